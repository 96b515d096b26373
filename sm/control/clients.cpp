// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/control/clients.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <optional>
#include <utility>

#include "sm/control/lines.h"

namespace sm::control {
namespace {

constexpr std::size_t kPiece = 65536;  // bytes that are read at a time

struct Client {
  ClientId id{};
  Descriptor fd;
  Lines said;
  std::string answers{};   // that were not taken yet
  bool ends{false};        // when they have been
  bool has_spoken{false};  // a whole line
  bool is_heard{true};     // else it is watched for room for answers
};

/// What has arrived, up to the end of a line. Nothing: nothing has.
std::optional<std::string> read_up_to_line_end(int fd) {
  std::string piece(kPiece, '\0');
  const ssize_t there = recv(fd, piece.data(), piece.size(), MSG_PEEK);
  if (there < 0) return std::nullopt;
  const auto* const end =
      static_cast<const char*>(std::memchr(piece.data(), '\n', static_cast<std::size_t>(there)));
  const auto wanted =
      end == nullptr ? static_cast<std::size_t>(there) : std::size_t(end - piece.data()) + 1;
  const ssize_t got = recv(fd, piece.data(), wanted, 0);
  if (got < 0) return std::nullopt;
  piece.resize(static_cast<std::size_t>(got));
  return piece;
}

}  // namespace

struct Clients::Impl {
  Descriptor listening, poll;
  std::size_t line_most{};
  ClientId next_id{0};
  std::list<Client> clients;  // the one that spoke last at the end

  void watch(int fd, std::uint32_t events, ClientId who, int operation) const {
    epoll_event event{};
    event.events = events;
    event.data.u64 = who;
    epoll_ctl(poll.get(), operation, fd, &event);
  }

  void accept_some(Listener& listener) {
    for (std::size_t i = 0; i < kMost; ++i) {
      Descriptor connection(
          accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (connection.get() < 0) return;
      if (!listener.admits(connection.get())) continue;
      if (clients.size() >= kMost) remove(least_missed(), listener);
      Client& client =
          clients.emplace_back(Client{++next_id, std::move(connection), Lines(line_most)});
      client.answers = listener.greeting(client.id);
      watch(client.fd.get(), EPOLLIN, client.id, EPOLL_CTL_ADD);
      if (!speak_to(client)) remove(std::prev(clients.end()), listener);
    }
  }

  /// Connections that say nothing are no reason to let go of somebody who works.
  std::list<Client>::iterator least_missed() {
    const auto silent = std::ranges::find(clients, false, &Client::has_spoken);
    return silent == clients.end() ? clients.begin() : silent;
  }

  void remove(std::list<Client>::iterator client, Listener& listener) {
    const ClientId id = client->id;
    clients.erase(client);
    listener.on_gone(id);
  }

  /// False: it goes.
  bool hear(Client& client, Listener& listener) const {
    const auto piece = read_up_to_line_end(client.fd.get());
    if (!piece) return errno == EAGAIN || errno == EINTR;
    if (piece->empty()) return false;
    client.said.add(*piece);
    if (const auto line = client.said.next()) {
      client.has_spoken = true;
      Reply reply = listener.on_line(client.id, *line);
      client.answers += reply.text;
      client.ends = reply.ends;
    } else if (client.said.too_long()) {
      client.answers += listener.too_long();
      client.ends = true;
    }
    return true;
  }

  /// False: it goes.
  bool speak_to(Client& client) const {
    std::string_view left = client.answers;
    while (!left.empty()) {
      const ssize_t sent = send(client.fd.get(), left.data(), left.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN) break;
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      left.remove_prefix(static_cast<std::size_t>(sent));
    }
    client.answers = std::string(left);
    if (client.answers.empty() && client.ends) return false;
    if (client.is_heard != client.answers.empty()) {
      client.is_heard = client.answers.empty();
      watch(client.fd.get(), client.is_heard ? EPOLLIN : EPOLLOUT, client.id, EPOLL_CTL_MOD);
    }
    return true;
  }

  std::list<Client>::iterator find(ClientId id) {
    return std::ranges::find(clients, id, &Client::id);
  }

  void attend(ClientId id, Listener& listener) {
    const auto client = find(id);
    if (client == clients.end()) return;  // it went in this turn
    if ((!client->is_heard || hear(*client, listener)) && speak_to(*client))
      clients.splice(clients.end(), clients, client);
    else
      remove(client, listener);
  }
};

Clients::Clients(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Clients::Clients(Clients&&) noexcept = default;
Clients& Clients::operator=(Clients&&) noexcept = default;
Clients::~Clients() = default;

ib::Result<Clients> Clients::at(Descriptor listening, std::size_t line_most) {
  auto impl = std::make_unique<Impl>();
  impl->listening = std::move(listening);
  impl->line_most = line_most;
  impl->poll = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  if (impl->poll.get() < 0)
    return ib::fail(ib::ErrorKind::Io, std::string("epoll: ") + std::strerror(errno));
  impl->watch(impl->listening.get(), EPOLLIN, 0, EPOLL_CTL_ADD);
  return Clients(std::move(impl));
}

int Clients::readable_fd() const { return impl_->poll.get(); }

void Clients::serve(Listener& listener) {
  std::array<epoll_event, kMost + 1> events;
  const int count =
      epoll_wait(impl_->poll.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const ClientId who = events[static_cast<std::size_t>(i)].data.u64;
    if (who == 0)
      impl_->accept_some(listener);
    else
      impl_->attend(who, listener);
  }
}

bool Clients::tell(ClientId id, std::string_view text, Listener& listener) {
  const auto client = impl_->find(id);
  if (client == impl_->clients.end() || !client->answers.empty()) return false;
  client->answers = text;
  if (impl_->speak_to(*client)) return true;
  impl_->remove(client, listener);
  return false;
}

}  // namespace sm::control
