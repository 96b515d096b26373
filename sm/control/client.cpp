// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/control/client.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace sm::control {
namespace {

struct Closing {
  int fd;
  ~Closing() {
    if (fd >= 0) close(fd);
  }
};

tl::unexpected<ib::Error> failed(const std::string& path, const char* what) {
  return ib::fail(ib::ErrorKind::Io,
                  "control socket " + path + ": " + what + ": " + strerror(errno));
}

}  // namespace

ib::Result<Answer> ask(const std::string& path, const Request& request,
                       std::chrono::milliseconds patience) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return ib::fail(ib::ErrorKind::Usage, "control socket " + path + ": the path is too long");
  std::memcpy(address.sun_path, path.data(), path.size());
  const Closing socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (socket.fd < 0) return failed(path, "socket");
  timeval wait{};
  wait.tv_sec = patience.count() / 1000;
  wait.tv_usec = (patience.count() % 1000) * 1000;
  for (const int what : {SO_RCVTIMEO, SO_SNDTIMEO})
    setsockopt(socket.fd, SOL_SOCKET, what, &wait, sizeof wait);
  if (connect(socket.fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EACCES)
      return ib::fail(ib::ErrorKind::Unavailable,
                      "control socket " + path +
                          ": permission denied: only root and the user that ibsm runs as may ask");
    return ib::fail(ib::ErrorKind::Unavailable,
                    "no ibsm listens at " + path + " (" + strerror(errno) +
                        "): start it, or name its socket (--socket, or --state-dir)");
  }
  const std::string line = encode(request);
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t more = send(socket.fd, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) return failed(path, "the request was not taken");
    sent += static_cast<std::size_t>(more);
  }
  std::string answer;
  std::array<char, 65536> buffer;
  while (answer.find('\n') == std::string::npos) {
    const ssize_t got = read(socket.fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN)
      return ib::fail(ib::ErrorKind::Io, "control socket " + path + ": no answer within " +
                                             std::to_string(patience.count() / 1000) +
                                             " s: ibsm is stopped, or busy beyond measure");
    if (got < 0) return failed(path, "no answer");
    if (got == 0)
      return ib::fail(ib::ErrorKind::Io,
                      "control socket " + path +
                          ": ibsm closed it without an answer: only root and the user that it runs "
                          "as may ask");
    answer.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return decode_answer(std::string_view(answer).substr(0, answer.find('\n')));
}

}  // namespace sm::control
