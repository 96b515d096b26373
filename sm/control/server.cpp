// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/control/server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace sm::control {
namespace {

constexpr int kBacklog = 16;

/// Root, and the user that ibsm runs as.
bool may_connect(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == 0 || peer.uid == geteuid();
}

ib::Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return ib::fail(ib::ErrorKind::Io, "control socket " + path + ": the path is longer than " +
                                           std::to_string(sizeof address.sun_path - 1) +
                                           " bytes; name another (--control_socket)");
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

tl::unexpected<ib::Error> cannot(const char* what, const std::string& path) {
  return ib::fail(ib::ErrorKind::Io,
                  std::string("control socket ") + path + ": " + what + ": " + strerror(errno));
}

/// Answers requests by `handler`.
class Requests final : public Listener {
 public:
  explicit Requests(const Server::Handler& handler) : handler_(handler) {}
  bool admits(int fd) override { return may_connect(fd); }
  Reply on_line(ClientId, std::string_view line) override {
    const auto request = decode_request(line);
    return {encode(request ? handler_(*request) : Answer{2, request.error().message + '\n'})};
  }
  std::string too_long() const override {
    return encode(Answer{
        2, "the request is longer than " + std::to_string(kRequestMax) + " bytes; ask in parts\n"});
  }

 private:
  const Server::Handler& handler_;
};

}  // namespace

struct Server::Impl {
  std::string path;
  ino_t inode{0};
  Clients clients;

  ~Impl() {
    struct stat file {};
    if (stat(path.c_str(), &file) == 0 && file.st_ino == inode) unlink(path.c_str());
  }
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

ib::Result<Server> Server::listen(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return tl::unexpected<ib::Error>(address.error());
  const auto fresh = [] {
    return Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  };
  Descriptor listener = fresh();
  const Descriptor probe = fresh();
  if (listener.get() < 0 || probe.get() < 0) return cannot("socket", path);
  if (connect(probe.get(), generic(*address), sizeof *address) == 0 || errno == EAGAIN)
    return ib::fail(ib::ErrorKind::Unavailable,
                    "control socket " + path + ": another program listens there");
  struct stat there {};
  if (lstat(path.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode)) {
      errno = EEXIST;
      return cannot("it is no socket", path);
    }
    unlink(path.c_str());
  }
  // The file takes the mode of the socket.
  if (fchmod(listener.get(), S_IRUSR | S_IWUSR) != 0) return cannot("fchmod", path);
  if (bind(listener.get(), generic(*address), sizeof *address) != 0) return cannot("bind", path);
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return cannot("stat", path);
  if (::listen(listener.get(), kBacklog) != 0) return cannot("listen", path);
  auto clients = Clients::at(std::move(listener), kRequestMax);
  if (!clients)
    return ib::fail(ib::ErrorKind::Io, "control socket " + path + ": " + clients.error().message);
  return Server(std::unique_ptr<Impl>(new Impl{path, file.st_ino, *std::move(clients)}));
}

int Server::readable_fd() const { return impl_->clients.readable_fd(); }

void Server::serve(const Handler& handler) {
  Requests requests(handler);
  impl_->clients.serve(requests);
}

}  // namespace sm::control
