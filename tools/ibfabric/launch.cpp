// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibfabric/launch.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "libdiag/base/text.h"
#include "tools/ibfabric/protocol.h"

namespace ibfabric {

using ib::ErrorKind;
using ib::Result;

Result<std::string> preload_library() {
  std::error_code error;
  if (const char* named = std::getenv("IBFABRIC_PRELOAD"); named != nullptr && *named != 0) {
    if (std::filesystem::exists(named, error)) return absolute_path(named);
    return ib::fail(ErrorKind::Unavailable, std::string("IBFABRIC_PRELOAD: no file ") + named);
  }
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto library = program.parent_path().parent_path() / "lib" / "libibfabric-umad.so";
  if (!error && std::filesystem::exists(library, error)) return library.string();
  return ib::fail(ErrorKind::Unavailable,
                  library.string() + " is missing; IBFABRIC_PRELOAD can name it");
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

void enter_environment(const std::string& library, const std::string& socket,
                       const std::string& at) {
  const char* before = std::getenv("LD_PRELOAD");
  std::string preload = library;
  if (before != nullptr) {
    // An outer ibfabric may have put the library there already.
    for (const auto piece : ib::split(before, ':')) {
      if (!piece.empty() && piece != library) preload += ":" + std::string(piece);
    }
  }
  setenv("LD_PRELOAD", preload.c_str(), 1);
  setenv(kEnvSocket, socket.c_str(), 1);
  setenv(kEnvAt, at.c_str(), 1);
}

int replace_by(const std::vector<std::string>& command) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  const int error = errno;
  std::fprintf(stderr, "ibfabric: %s: %s\n", words[0], std::strerror(error));
  return error == ENOENT ? 127 : 126;
}

Result<CtlResult> call_server(const std::string& socket, const CtlCommand& command) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (socket.empty() || socket.size() >= sizeof address.sun_path) {
    return ib::fail(ErrorKind::Usage, "socket path '" + socket + "': expected 1 to 107 characters");
  }
  std::memcpy(address.sun_path, socket.c_str(), socket.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const auto give_up = [&](const std::string& what) {
    close(fd);
    return ib::fail(ErrorKind::Unavailable, socket + ": " + what);
  };
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) < 0) {
    return give_up((errno == EACCES || errno == EPERM ? std::string("cannot connect: ")
                                                      : std::string("no server: ")) +
                   std::strerror(errno));
  }
  Request request = {};
  request.protocol = kProtocol;
  request.op = Op::Ctl;
  const std::string text = encode(command);
  std::string frame(reinterpret_cast<const char*>(&request), sizeof request);
  frame += text;
  if (frame.size() > kFrameBytes) return give_up("command too long");
  if (send(fd, frame.data(), frame.size(), MSG_NOSIGNAL) < 0) return give_up("server went away");
  Reply reply = {};
  if (recv(fd, &reply, sizeof reply, 0) != sizeof reply || reply.protocol != kProtocol) {
    return give_up("not an ibfabric server of this build");
  }
  CtlResult result{reply.result, {}};
  std::array<char, kFrameBytes> buffer;
  while (result.text.size() < reply.text_bytes) {
    const ssize_t n = recv(fd, buffer.data(), buffer.size(), 0);
    if (n <= 0) return give_up("server went away");
    result.text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  close(fd);
  return result;
}

}  // namespace ibfabric
