// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibfabric/server.h"

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

#include "tools/ibfabric/server_impl.h"

namespace ibfabric {

using ib::ErrorKind;

namespace {

/// What falls due so soon is done at once: sleeping would take longer.
constexpr ib::Duration kSlack = std::chrono::microseconds(20);
/// MADs taken from one program before the others have their turn.
constexpr std::size_t kReadBatch = 32;
/// Who says less than so much at a time, while others talk, is left alone for a moment: to look for
/// every MAD as it is written is dear for both ends.
constexpr std::size_t kFew = 16;
constexpr ib::Duration kRest = std::chrono::microseconds(10);
/// While others talk a program is still listened to that said nothing so many times in a row.
constexpr unsigned kSilentRounds = 16;
/// While rings are busy the sockets are looked at no more often: what comes by them is rare then.
constexpr ib::Duration kSocketsEvery = std::chrono::microseconds(50);

std::uint64_t random_id() {
  std::uint64_t id = 0;
  if (getrandom(&id, sizeof id, 0) != sizeof id)
    id = static_cast<std::uint64_t>(ib::monotonic_now().ns);
  return id;
}

/// As many files as the machine allows: every open port is two.
void allow_many_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

Server::Impl::Impl(Model& m, Command c)
    : model(m), command(std::move(c)), next_id(random_id()), read_buffer(kFrameBytes) {
  const auto nodes = model.topology().nodes();
  hosts.resize(nodes.empty() ? 0 : nodes.back().first_port + nodes.back().num_ports + 1U);
}

Server::Impl::~Impl() {
  for (auto& [fd, c] : connections)
    if (!c->end) ::close(fd);
  if (epoll >= 0) ::close(epoll);
}

// ---- time

Instant Server::Impl::now() {
  last = std::max(last, ib::monotonic_now());
  return last;
}

void Server::Impl::settle() {
  last = std::max(last, ib::monotonic_now() + kSlack);
  for (bool busy = true; busy;) {
    busy = false;
    model.advance(last);
    while (const auto* delivery = model.next_delivery()) {
      Host& host = host_at(delivery->port);
      host.kernel.on_delivery(last, *delivery);
      touch(host);
      busy = true;
    }
    while (!timers.empty() && timers.begin()->first <= last) {
      Host& host = *timers.begin()->second;
      timers.erase(timers.begin());
      host.due = ib::kNever;
      host.kernel.advance(last);
      touch(host);
      set_timer(host);
      busy = true;
    }
    busy = busy && model.next_event() <= last;
  }
  for (std::size_t i = 0; i < touched.size(); ++i) {
    Host& host = *touched[i];
    host.touched = false;
    set_timer(host);
    for (Connection* c : host.connections) {
      if (c->kind == Connection::Kind::Port) flush_port(*c);
    }
  }
  touched.clear();
}

void Server::Impl::touch(Host& host) {
  if (host.touched) return;
  host.touched = true;
  touched.push_back(&host);
}

void Server::Impl::set_timer(Host& host) {
  const Instant due = host.kernel.next_event();
  // One that has moved on stays: with every answer the oldest request is another.
  if (due >= host.due) return;
  if (host.due != ib::kNever) timers.erase({host.due, &host});
  host.due = due;
  timers.emplace(due, &host);
}

Host& Server::Impl::host_at(PortRef port) {
  auto& host = hosts[model.topology().node(port.node).first_port + port.port];
  if (!host) host = std::make_unique<Host>(model, port);
  return *host;
}

bool Server::Impl::must_look_at_sockets() {
  if (!heard.empty() && last < looked_at_sockets + kSocketsEvery) return false;
  looked_at_sockets = last;
  return true;
}

std::optional<timespec> Server::Impl::sleep_time() {
  Instant due = model.next_event();
  if (!timers.empty()) due = std::min(due, timers.begin()->first);
  if (!heard.empty()) return timespec{};
  if (due == ib::kNever) return std::nullopt;
  const std::int64_t ns = std::max<std::int64_t>(0, (due - kSlack - ib::monotonic_now()).count());
  return timespec{ns / 1'000'000'000, ns % 1'000'000'000};
}

// ---- connections

void Server::Impl::watch(int fd, std::uint32_t events, int operation) const {
  epoll_event e = {};
  e.events = events;
  e.data.fd = fd;
  epoll_ctl(epoll, operation, fd, &e);
}

void Server::Impl::watch_port(const ServerEnd& end) const {
  watch(end.bell(), EPOLLIN, EPOLL_CTL_ADD);
  epoll_event e = {};
  e.data.fd = end.bell();
  epoll_ctl(epoll, EPOLL_CTL_ADD, end.program(), &e);
}

void Server::Impl::accept_all() {
  for (;;) {
    const int fd = listener.accept();
    if (fd < 0) return;
    int buffer = 1 << 20;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    auto connection = std::make_unique<Connection>();
    connection->fd = fd;
    connections[fd] = std::move(connection);
    watch(fd, EPOLLIN, EPOLL_CTL_ADD);
  }
}

void Server::Impl::close(Connection& c) {
  if (c.host != nullptr) {
    Host& host = *c.host;
    std::erase(host.connections, &c);
    if (c.kind == Connection::Kind::Port) {
      host.kernel.close(c.file);
      ports_by_id.erase(c.id);
      std::erase(heard, &c);
    }
    if (c.kind == Connection::Kind::Issm) {
      host.kernel.issm_close(now(), c.issm);
      tell_issm(host);
    }
    set_timer(host);
  }
  c.kind = Connection::Kind::Closed;
  if (c.end) {
    // A program that does not close its copy of the bell keeps it in the set.
    watch(c.fd, 0, EPOLL_CTL_DEL);
  } else {
    ::close(c.fd);  // leaves the epoll set by itself: nobody else has this descriptor
  }
  connections.erase(c.fd);
}

void Server::Impl::on_ready(int fd, std::uint32_t events) {
  const auto found = connections.find(fd);
  if (found == connections.end()) return;
  Connection& c = *found->second;
  if ((events & EPOLLOUT) != 0) write_text(c);
  if (c.kind == Connection::Kind::Text && c.text.empty()) return close(c);
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
  switch (c.kind) {
    case Connection::Kind::New:
      return on_request(c);
    case Connection::Kind::Port:
      if ((events & EPOLLERR) != 0) c.gone = true;
      return hear(c);
    case Connection::Kind::Limit:
      return write_limit(c);
    default:  // nothing is expected; the end is what comes
      char byte;
      if (recv(c.fd, &byte, 1, 0) == 0 || (events & EPOLLERR) != 0) close(c);
  }
}

void Server::Impl::hear(Connection& c) {
  if (!std::exchange(c.heard, true)) heard.push_back(&c);
}

void Server::Impl::reply_result(Connection& c, std::int32_t result, std::uint64_t id) {
  Reply r = {};
  r.protocol = kProtocol;
  r.result = result;
  r.port_id = id;
  reply(c, r);
}

// ---- MADs

std::optional<std::size_t> Server::Impl::take_mads(Connection& c, std::size_t most) {
  const Instant at = now();
  auto taken = ServerEnd::Taken::Mad;
  std::size_t count = 0;
  for (; count < most; ++count) {
    taken = c.end->take(mad);
    if (taken != ServerEnd::Taken::Mad) break;
    send(c, at, mad);
  }
  c.end->made_room();
  if (taken == ServerEnd::Taken::Broken) return std::nullopt;
  return count;
}

std::int32_t Server::Impl::send(Connection& c, Instant at, UserMad& m) {
  const int result = c.host->kernel.send(at, c.file, m);
  touch(*c.host);
  return result;
}

void Server::Impl::take_heard() {
  for (Connection* c : heard) {
    if (rests(*c)) continue;
    const auto count = take_mads(*c, kReadBatch);
    c->spoilt = !count;
    if (heard.size() > 1 && count.value_or(0) != 0 && *count < kFew) c->rests_until = last + kRest;
    if (c->behind) touch(*c->host);
  }
}

void Server::Impl::look_again() {
  std::vector<Connection*> gone;
  const bool goes_on =
      std::ranges::any_of(heard, [this](auto* c) { return rests(*c) || c->end->has_more(); });
  bool all_rest = !heard.empty();
  std::erase_if(heard, [&](Connection* c) {
    if (rests(*c)) return false;
    all_rest = false;
    c->silent_rounds = c->end->has_more() ? 0 : c->silent_rounds + 1;
    Said said = Said::More;
    if (c->spoilt || c->end->is_broken()) {
      said = Said::Last;
    } else if (c->silent_rounds > (goes_on ? kSilentRounds : 0)) {
      said = listen(*c);
    }
    if (said == Said::Last) gone.push_back(c);
    if (said != Said::More) c->silent_rounds = 0;
    c->heard = said == Said::More;
    return said != Said::More;
  });
  for (Connection* c : gone) close(*c);
  if (all_rest) sched_yield();
}

Server::Impl::Said Server::Impl::listen(Connection& c) {
  if (!c.end->silence()) return Said::More;
  if (c.behind && c.end->finds_room()) return Said::More;
  return c.gone ? Said::Last : Said::Enough;
}

void Server::Impl::flush_port(Connection& c) {
  HostKernel& kernel = c.host->kernel;
  c.behind = false;
  while (const UserMad* front = kernel.front(c.file)) {
    c.behind = !c.end->give(*front);
    if (c.behind) break;
    kernel.pop(c.file);
  }
  c.end->show();
}

void Server::Impl::write_text(Connection& c) {
  bool blocked = false;
  while (!c.text.empty() && !blocked) {
    const std::size_t n = std::min(c.text.size(), kFrameBytes);
    blocked = ::send(c.fd, c.text.data(), n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0;
    if (!blocked || errno != EAGAIN) c.text.erase(0, blocked ? c.text.size() : n);
  }
  if (blocked == c.wants_write) return;
  c.wants_write = blocked;
  watch(c.fd, blocked ? EPOLLIN | EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
}

// ---- outside

Server::Server(Model& model, Command command)
    : impl_(std::make_unique<Impl>(model, std::move(command))) {}
Server::~Server() = default;

std::vector<OpenFile> Server::open_files() const {
  std::vector<OpenFile> all;
  for (const auto& host : impl_->hosts) {
    if (!host) continue;
    for (const Connection* c : host->connections)
      if (c->kind == Connection::Kind::Port)
        all.push_back({host->port, c->pid, host->kernel.receive_queue(c->file)});
  }
  return all;
}
void Server::reset_dropped() {
  for (const auto& [id, c] : impl_->ports_by_id) c->host->kernel.reset_dropped(c->file);
}

Result<void> Server::listen(const std::string& path) {
  if (auto listening = impl_->listener.listen(path); !listening) return listening;
  impl_->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (impl_->epoll < 0) return ib::fail(ErrorKind::Unavailable, path + ": " + std::strerror(errno));
  impl_->watch(impl_->listener.fd(), EPOLLIN, EPOLL_CTL_ADD);
  return {};
}

/// epoll_pwait2(), also where the kernel has none (before Linux 5.11, and in some sandboxes).
int Server::Impl::wait_for_events(std::span<epoll_event> events, const timespec* sleep) {
  const auto count = static_cast<int>(events.size());
  if (has_pwait2) {
    const int n = epoll_pwait2(epoll, events.data(), count, sleep, nullptr);
    if (n >= 0 || errno != ENOSYS) return n;
    has_pwait2 = false;
  }
  pollfd any{epoll, POLLIN, 0};
  if (ppoll(&any, 1, sleep, nullptr) <= 0) return 0;
  return epoll_wait(epoll, events.data(), count, 0);
}

std::optional<int> Server::look_at_sockets(
    int signal_fd, const std::function<std::optional<int>(int signal)>& on_signal) {
  std::array<epoll_event, 64> events;
  const auto sleep = impl_->sleep_time();
  const int n = impl_->wait_for_events(events, sleep ? &*sleep : nullptr);
  for (int i = 0; i < n; ++i) {
    const epoll_event& e = events[static_cast<std::size_t>(i)];
    if (e.data.fd == impl_->listener.fd()) {
      impl_->accept_all();
    } else if (e.data.fd == signal_fd) {
      signalfd_siginfo info;
      if (read(signal_fd, &info, sizeof info) != sizeof info) continue;
      if (const auto status = on_signal(static_cast<int>(info.ssi_signo))) return status;
    } else {
      impl_->on_ready(e.data.fd, e.events);
    }
  }
  return std::nullopt;
}

int Server::run(int signal_fd, const std::function<std::optional<int>(int signal)>& on_signal) {
  allow_many_files();
  impl_->watch(signal_fd, EPOLLIN, EPOLL_CTL_ADD);
  for (;;) {
    if (impl_->must_look_at_sockets())
      if (const auto status = look_at_sockets(signal_fd, on_signal)) return *status;
    impl_->take_heard();
    impl_->settle();
    impl_->look_again();
  }
}

}  // namespace ibfabric
