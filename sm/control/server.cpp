// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/control/server.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <string_view>
#include <utility>

namespace sm::control {
namespace {

constexpr int kBacklog = 16;
constexpr std::size_t kAnswersMax = 64U << 20;  // bytes that a client has not read yet

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }

 private:
  int fd_{-1};
};

struct Client {
  Descriptor fd;
  std::string said;     // that has no end yet
  std::string answers;  // that were not taken yet
  bool watches_output{false};
};

/// Root and whoever ibsm runs as.
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

}  // namespace

struct Server::Impl {
  std::string path;
  ino_t inode{0};
  Descriptor listener, poll;
  std::list<Client> clients;  // the one that spoke last at the end

  ~Impl() {
    struct stat file {};
    if (listener.get() >= 0 && stat(path.c_str(), &file) == 0 && file.st_ino == inode)
      unlink(path.c_str());
  }

  void watch(int fd, std::uint32_t events, void* who, int operation) const {
    epoll_event event{};
    event.events = events;
    event.data.ptr = who;
    epoll_ctl(poll.get(), operation, fd, &event);
  }

  void accept_all() {
    for (int fd;
         (fd = accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
      Descriptor connection(fd);
      if (!may_connect(fd)) continue;
      if (clients.size() >= kClientsMax) clients.pop_front();
      clients.push_back({std::move(connection), {}, {}, false});
      watch(fd, EPOLLIN, &clients.back(), EPOLL_CTL_ADD);
    }
  }

  /// False: it goes.
  bool listen_to(Client& client, const Handler& handler) {
    std::array<char, 65536> buffer;
    const ssize_t got = read(client.fd.get(), buffer.data(), buffer.size());
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    client.said.append(buffer.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end; (end = client.said.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      const auto request = decode_request(std::string_view(client.said).substr(begin, end - begin));
      client.answers +=
          encode(request ? handler(*request) : Answer{2, request.error().message + '\n'});
    }
    client.said.erase(0, begin);
    if (client.said.size() > kRequestMax) {
      client.answers +=
          encode(Answer{2, "the request is longer than " + std::to_string(kRequestMax) +
                               " bytes; ask in parts\n"});
      speak_to(client);
      return false;
    }
    return true;
  }

  bool speak_to(Client& client) {
    while (!client.answers.empty()) {
      const ssize_t sent =
          send(client.fd.get(), client.answers.data(), client.answers.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN) break;
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      client.answers.erase(0, static_cast<std::size_t>(sent));
    }
    if (client.answers.size() > kAnswersMax) return false;
    if (client.watches_output != !client.answers.empty()) {
      client.watches_output = !client.answers.empty();
      watch(client.fd.get(), client.watches_output ? EPOLLIN | EPOLLOUT : EPOLLIN, &client,
            EPOLL_CTL_MOD);
    }
    return true;
  }

  void attend(Client* client, const Handler& handler) {
    // An event of the same batch may have sent it away.
    for (auto it = clients.begin(); it != clients.end(); ++it) {
      if (&*it != client) continue;
      if (listen_to(*client, handler) && speak_to(*client))
        clients.splice(clients.end(), clients, it);
      else
        clients.erase(it);
      return;
    }
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
  auto impl = std::make_unique<Impl>();
  impl->path = path;
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
  if (stat(path.c_str(), &file) == 0) impl->inode = file.st_ino;
  if (::listen(listener.get(), kBacklog) != 0) return cannot("listen", path);
  impl->listener = std::move(listener);
  impl->poll = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  if (impl->poll.get() < 0) return cannot("epoll", path);
  impl->watch(impl->listener.get(), EPOLLIN, nullptr, EPOLL_CTL_ADD);
  return Server(std::move(impl));
}

int Server::readable_fd() const { return impl_->poll.get(); }

void Server::serve(const Handler& handler) {
  std::array<epoll_event, kClientsMax + 1> events;
  const int count =
      epoll_wait(impl_->poll.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    auto* client = static_cast<Client*>(events[static_cast<std::size_t>(i)].data.ptr);
    if (client == nullptr)
      impl_->accept_all();
    else
      impl_->attend(client, handler);
  }
}

}  // namespace sm::control
