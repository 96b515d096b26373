// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibfabric/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <infiniband/umad.h>
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
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "libdiag/base/text.h"
#include "libdiag/sim/kernel.h"
#include "tools/ibfabric/description.h"
#include "tools/ibfabric/listening_socket.h"
#include "tools/ibfabric/place.h"
#include "tools/ibfabric/protocol.h"
#include "tools/ibfabric/server_end.h"

namespace ibfabric {

using ib::ErrorKind;
using ib::Instant;
using ib::Result;
using ib::sim::FileId;
using ib::sim::HostKernel;
using ib::sim::IssmId;
using ib::sim::Model;
using ib::sim::PortRef;
using ib::sim::UserMad;

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

struct Host;

struct Connection {
  enum class Kind { New, Port, Issm, Limit, Text, Closed };
  int fd{-1};  // Port: of its bell
  Kind kind{Kind::New};
  Host* host{};
  std::uint64_t id{};
  pid_t pid{};  // Port: who opened it
  FileId file{};
  IssmId issm{};
  std::int32_t limit{};  // Limit: which file (kLimitNames)
  bool issm_told{false};
  bool wants_write{false};
  std::unique_ptr<ServerEnd> end;  // Port
  bool heard{false};               // Port: in Impl::heard
  bool gone{false};                // Port: nobody has it open any more
  unsigned silent_rounds{0};       // Port: it was heard, and said nothing, so many times in a row
  Instant rests_until{};           // Port: it said little
  bool behind{false};              // Port: its ring had no room
  bool spoilt{false};              // Port: so is its ring
  std::string text;                // Text: what is left to be written
};

struct Host {
  Host(Model& model, PortRef where) : port(where), attachment(model, where), kernel(attachment) {}
  PortRef port;
  ib::sim::ModelAttachment attachment;
  HostKernel kernel;
  std::vector<Connection*> connections;
  Instant due{ib::kNever};  // when it has its turn; it may be called too early, but not too late
  bool touched{false};
};

}  // namespace

struct Server::Impl {
  Impl(Model& m, Command c) : model(m), command(std::move(c)), read_buffer(kFrameBytes) {
    const auto nodes = model.topology().nodes();
    hosts.resize(nodes.empty() ? 0 : nodes.back().first_port + nodes.back().num_ports + 1U);
  }

  Model& model;
  Command command;
  ListeningSocket listener;
  int epoll{-1};
  Instant last{};
  Instant looked_at_sockets{};
  std::uint64_t next_id{random_id()};  // programs of a server before this one hold others
  std::unordered_map<int, std::unique_ptr<Connection>> connections;  // by descriptor
  std::unordered_map<std::uint64_t, Connection*> ports_by_id;
  std::vector<std::unique_ptr<Host>> hosts;  // by node's first port and port; made when needed
  std::set<std::pair<Instant, Host*>> timers;
  std::vector<Host*> touched;
  std::vector<Connection*> heard;  // ports that may have more to say
  std::vector<std::byte> read_buffer;
  UserMad mad;  // the one that is being taken from a ring

  ~Impl() {
    for (auto& [fd, c] : connections)
      if (!c->end) ::close(fd);
    if (epoll >= 0) ::close(epoll);
  }

  // ---- time -----------------------------------------------------------------------------------

  Instant now() {
    last = std::max(last, ib::monotonic_now());
    return last;
  }

  /// Lets everything happen that is due, and what follows from it at once.
  void settle() {
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

  void touch(Host& host) {
    if (host.touched) return;
    host.touched = true;
    touched.push_back(&host);
  }

  void set_timer(Host& host) {
    const Instant due = host.kernel.next_event();
    // One that has moved on stays: with every answer the oldest request is another.
    if (due >= host.due) return;
    if (host.due != ib::kNever) timers.erase({host.due, &host});
    host.due = due;
    timers.emplace(due, &host);
  }

  Host& host_at(PortRef port) {
    auto& host = hosts[model.topology().node(port.node).first_port + port.port];
    if (!host) host = std::make_unique<Host>(model, port);
    return *host;
  }

  /// Whether it is time for epoll.
  bool must_look_at_sockets() {
    if (!heard.empty() && last < looked_at_sockets + kSocketsEvery) return false;
    looked_at_sockets = last;
    return true;
  }

  /// How long epoll may sleep; nullopt: until something arrives.
  std::optional<timespec> sleep_time() {
    Instant due = model.next_event();
    if (!timers.empty()) due = std::min(due, timers.begin()->first);
    if (!heard.empty()) return timespec{};
    if (due == ib::kNever) return std::nullopt;
    const std::int64_t ns = std::max<std::int64_t>(0, (due - kSlack - ib::monotonic_now()).count());
    return timespec{ns / 1'000'000'000, ns % 1'000'000'000};
  }

  // ---- connections ----------------------------------------------------------------------------

  void watch(int fd, std::uint32_t events, int operation) const {
    epoll_event e = {};
    e.events = events;
    e.data.fd = fd;
    epoll_ctl(epoll, operation, fd, &e);
  }
  /// The bell of an open port and, under the same number, whether anybody has it open: EPOLLERR
  /// comes unasked.
  void watch_port(const ServerEnd& end) const {
    watch(end.bell(), EPOLLIN, EPOLL_CTL_ADD);
    epoll_event e = {};
    e.data.fd = end.bell();
    epoll_ctl(epoll, EPOLL_CTL_ADD, end.program(), &e);
  }

  void accept_all() {
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

  void close(Connection& c) {
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

  void on_ready(int fd, std::uint32_t events) {
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

  void hear(Connection& c) {
    if (!std::exchange(c.heard, true)) heard.push_back(&c);
  }

  /// Sends a small reply; a peer that is gone is noticed by its descriptor.
  template <class T>
  void reply(Connection& c, const T& r) {
    [[maybe_unused]] const auto n = ::send(c.fd, &r, sizeof r, MSG_NOSIGNAL);
  }
  void reply_result(Connection& c, std::int32_t result, std::uint64_t id = 0) {
    Reply r = {};
    r.protocol = kProtocol;
    r.result = result;
    r.port_id = id;
    reply(c, r);
  }

  // ---- requests -------------------------------------------------------------------------------

  void on_request(Connection& c) {
    const ssize_t n = recv(c.fd, read_buffer.data(), kFrameBytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    Request request;
    if (n < static_cast<ssize_t>(sizeof request)) return close(c);
    std::memcpy(&request, read_buffer.data(), sizeof request);
    request.at[sizeof request.at - 1] = 0;
    if (request.protocol != kProtocol) {
      reply_result(c, -EPROTO);
      return close(c);
    }
    const std::vector<std::byte> more(read_buffer.begin() + sizeof request,
                                      read_buffer.begin() + n);
    switch (request.op) {
      case Op::OpenPort:
        return open_port(c, request);
      case Op::OpenIssm:
        return open_issm(c, request);
      case Op::ReadLimit:
        read_limit(c, request);
        return close(c);
      case Op::WriteLimit:
        return open_limit(c, request);
      case Op::Ctl:
        return run_command(c, more);
      case Op::Describe:
        reply(c, describe(model, request.at));
        return close(c);
      default:
        reply_result(c, on_port_request(request, more));
        return close(c);
    }
  }

  /// The host port `port_num` of the node the client sits at.
  std::optional<PortRef> port_for(const Request& request, int port_num) const {
    const auto place = find_place(model.topology(), request.at);
    if (!place || port_num < 0 || port_num > 255) return std::nullopt;
    const PortRef port{place->node, static_cast<std::uint8_t>(port_num)};
    return is_host_port(model.topology(), port) ? std::optional(port) : std::nullopt;
  }

  void open_port(Connection& c, const Request& request) {
    const auto port = port_for(request, request.port_num);
    if (!port) {
      reply_result(c, -ENODEV);
      return close(c);
    }
    c.end = ServerEnd::make();
    if (!c.end) {
      reply_result(c, -errno);
      return close(c);
    }
    c.kind = Connection::Kind::Port;
    c.host = &host_at(*port);
    c.host->connections.push_back(&c);
    c.file = c.host->kernel.open(c.end.get());
    c.id = next_id++;
    ucred peer{};
    socklen_t size = sizeof peer;
    if (getsockopt(c.fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) c.pid = peer.pid;
    ports_by_id[c.id] = &c;
    reply_files(c);
    // The conversation is over, and it goes by its bell from now on.
    auto entry = connections.extract(c.fd);
    ::close(c.fd);
    c.fd = c.end->bell();
    entry.key() = c.fd;
    connections.insert(std::move(entry));
    watch_port(*c.end);
  }

  /// The reply to OpenPort, with the port's descriptors.
  void reply_files(Connection& c) {
    Reply r = {};
    r.protocol = kProtocol;
    r.port_id = c.id;
    iovec part = {&r, sizeof r};
    const auto& files = c.end->for_program();
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof files)> control{};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof files);
    std::memcpy(CMSG_DATA(rights), files.data(), sizeof files);
    [[maybe_unused]] const auto n = sendmsg(c.fd, &message, MSG_NOSIGNAL);
    c.end->close_for_program();
  }

  void open_issm(Connection& c, const Request& request) {
    const auto place = find_place(model.topology(), request.at);
    const bool on_switch = place && model.topology().node(place->node).is_switch();
    const auto port = port_for(request, on_switch ? request.port_num : request.port_num + 1);
    if (!port) {
      reply_result(c, -ENODEV);
      return close(c);
    }
    Host& host = host_at(*port);
    if ((request.flags & kNonBlock) != 0 && host.kernel.issm_busy()) {
      reply_result(c, -EAGAIN);
      return close(c);
    }
    c.kind = Connection::Kind::Issm;
    c.host = &host;
    c.issm = host.kernel.issm_open(now());
    host.connections.push_back(&c);
    tell_issm(host);
  }

  /// The host whose file a request names; nullptr: there is no such file.
  Host* host_of_limit(const Request& request) {
    const auto port = port_for(request, request.port_num);
    const bool known = request.agent >= 0 && request.agent <= kDrops;
    if (!port || !known || !model.faults().sa_congestion) return nullptr;
    return &host_at(*port);
  }
  void read_limit(Connection& c, const Request& request) {
    const Host* host = host_of_limit(request);
    if (host == nullptr) return reply_result(c, -ENOENT);
    const HostKernel& kernel = host->kernel;
    reply_result(c, 0,
                 request.agent == kDrops
                     ? kernel.sa_drops()
                     : kernel.sa_limits().*ib::mad::kSaLimits[request.agent].value);
  }
  void open_limit(Connection& c, const Request& request) {
    c.host = host_of_limit(request);
    reply_result(c, c.host == nullptr ? -ENOENT : 0);
    if (c.host == nullptr) return close(c);
    c.kind = Connection::Kind::Limit;
    c.limit = request.agent;
    c.host->connections.push_back(&c);
  }
  /// A number in its range, and 0 for the drops, are taken; anything else changes nothing.
  void write_limit(Connection& c) {
    std::array<char, 64> text{};
    const ssize_t n = recv(c.fd, text.data(), text.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return close(c);
    HostKernel& kernel = c.host->kernel;
    const auto word = ib::trim(std::string_view(text.data(), static_cast<std::size_t>(n)));
    std::uint64_t value = 0;
    if (c.limit == kDrops) {
      if (ib::parse_number(word, 0, value)) kernel.reset_sa_drops();
      return;
    }
    const ib::mad::SaLimit& limit = ib::mad::kSaLimits[c.limit];
    if (!ib::parse_number(word, limit.max, value) || value < limit.min) return;
    ib::mad::SaLimits limits = kernel.sa_limits();
    limits.*limit.value = static_cast<std::uint32_t>(value);
    kernel.set_sa_limits(limits);
    touch(*c.host);
  }

  /// Tells whoever holds the issm file now, if it does not know yet.
  void tell_issm(Host& host) {
    for (Connection* c : host.connections) {
      if (c->kind != Connection::Kind::Issm || c->issm_told) continue;
      if (!host.kernel.issm_granted(c->issm)) continue;
      c->issm_told = true;
      reply_result(*c, 0);
    }
  }

  /// Register, Unregister, Threshold and Send, which speak of a port that is open on another
  /// connection. What was written there before comes first.
  std::int32_t on_port_request(const Request& request, const std::vector<std::byte>& more) {
    const auto found = ports_by_id.find(request.port_id);
    if (found == ports_by_id.end()) return -EBADF;
    Connection& c = *found->second;
    if (!take_mads(c, kRingSlots)) {
      hear(c);  // and there it comes to its end
      return -EIO;
    }
    switch (request.op) {
      case Op::Register: {
        ib::sim::Registration r;
        r.qpn = request.qpn;
        r.mgmt_class = request.mgmt_class;
        r.class_version = request.class_version;
        r.oui = request.oui;
        r.method_mask = {request.method_mask[0], request.method_mask[1]};
        r.rmpp_version = request.rmpp_version;
        r.user_rmpp = request.user_rmpp != 0;
        return c.host->kernel.register_agent(c.file, r);
      }
      case Op::Unregister:
        return c.host->kernel.unregister_agent(c.file, request.agent);
      case Op::Threshold:
        if (request.port_num < 0) return -EINVAL;
        return c.host->kernel.set_receive_threshold(c.file,
                                                    static_cast<std::uint32_t>(request.port_num));
      case Op::Send: {
        if (more.size() < kUmadHeaderBytes) return -EINVAL;
        ib_user_mad header;
        std::memcpy(&header, more.data(), kUmadHeaderBytes);
        UserMad asked =
            user_mad(header, more.data() + kUmadHeaderBytes, more.size() - kUmadHeaderBytes);
        return send(c, now(), asked);
      }
      default:
        return -ENOTTY;
    }
  }

  void run_command(Connection& c, const std::vector<std::byte>& more) {
    const CommandResult result =
        command(now(), std::string(reinterpret_cast<const char*>(more.data()), more.size()));
    Reply r = {};
    r.protocol = kProtocol;
    r.result = result.status;
    r.text_bytes = result.text.size();
    reply(c, r);
    c.kind = Connection::Kind::Text;
    c.text = result.text;
    write_text(c);
    if (c.text.empty()) close(c);
  }

  // ---- MADs -----------------------------------------------------------------------------------

  /// Hands what a program wrote to its kernel, `most` MADs or slots at the most. How many it were;
  /// nullopt: its ring is spoilt.
  std::optional<std::size_t> take_mads(Connection& c, std::size_t most) {
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

  std::int32_t send(Connection& c, Instant at, UserMad& m) {
    const int result = c.host->kernel.send(at, c.file, m);
    touch(*c.host);
    return result;
  }

  bool rests(const Connection& c) const { return last < c.rests_until; }

  void take_heard() {
    for (Connection* c : heard) {
      if (rests(*c)) continue;
      const auto count = take_mads(*c, kReadBatch);
      c->spoilt = !count;
      if (heard.size() > 1 && count.value_or(0) != 0 && *count < kFew)
        c->rests_until = last + kRest;
      if (c->behind) touch(*c->host);
    }
  }

  /// After the fabric has settled: who has said more meanwhile stays heard, and of the others the
  /// bell is taken. So under load it is left alone; and where somebody else goes on talking, who
  /// has just fallen silent is listened to a little longer, which spares him the bell.
  void look_again() {
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

  enum class Said { More, Enough, Last };
  Said listen(Connection& c) {
    if (!c.end->silence()) return Said::More;
    if (c.behind && c.end->finds_room()) return Said::More;
    return c.gone ? Said::Last : Said::Enough;
  }

  /// Writes what the kernel has for a program, as far as there is room.
  void flush_port(Connection& c) {
    HostKernel& kernel = c.host->kernel;
    c.behind = false;
    while (const UserMad* front = kernel.front(c.file)) {
      c.behind = !c.end->give(*front);
      if (c.behind) break;
      kernel.pop(c.file);
    }
    c.end->show();
  }

  void write_text(Connection& c) {
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
};

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

std::optional<int> Server::look_at_sockets(
    int signal_fd, const std::function<std::optional<int>(int signal)>& on_signal) {
  std::array<epoll_event, 64> events;
  const auto sleep = impl_->sleep_time();
  const int n = epoll_pwait2(impl_->epoll, events.data(), static_cast<int>(events.size()),
                             sleep ? &*sleep : nullptr, nullptr);
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
