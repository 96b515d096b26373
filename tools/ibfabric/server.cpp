// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibfabric/server.h"

#include <arpa/inet.h>
#include <infiniband/umad.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "libdiag/sim/kernel.h"
#include "libdiag/wire/rates.h"
#include "tools/ibfabric/place.h"
#include "tools/ibfabric/protocol.h"

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
constexpr std::size_t kMessageBytesMax = 64U << 20U;
constexpr std::size_t kReadBatch = 32, kWriteBatch = 32, kReadsPerTurn = 1;

std::string errno_text() { return std::strerror(errno); }

/// How the kernel's sysfs prints a port's rate: whole Gb/s.
std::uint32_t sysfs_rate(const ib::wire::PortInfo& info) {
  using ib::wire::LinkSpeed;
  const auto tenths = [](LinkSpeed s) -> unsigned {
    switch (s) {
      case LinkSpeed::Ddr:
        return 50;
      case LinkSpeed::Qdr:
      case LinkSpeed::Fdr10:
        return 100;
      case LinkSpeed::Fdr:
        return 140;
      case LinkSpeed::Edr:
        return 250;
      case LinkSpeed::Hdr:
        return 500;
      case LinkSpeed::Ndr:
        return 1000;
      case LinkSpeed::Xdr:
        return 2000;
      default:
        return 25;
    }
  };
  const unsigned lanes = std::max(1U, ib::wire::lanes(ib::wire::active_width(info)));
  return tenths(ib::wire::active_speed(info)) * lanes / 10;
}

UserMad from_frame(const ib_user_mad& header, const std::byte* data, std::size_t size) {
  UserMad m;
  m.agent = static_cast<std::int32_t>(header.agent_id);
  m.timeout_ms = header.timeout_ms;
  m.retries = header.retries;
  m.length = static_cast<std::uint32_t>(size);
  ib::mad::Address& a = m.packet.address;
  a.lid = ib::Lid{ntohs(header.addr.lid)};
  a.qpn = ntohl(header.addr.qpn);
  a.q_key = ntohl(header.addr.qkey);
  a.sl = ib::Sl{header.addr.sl};
  a.path_bits = header.addr.path_bits;
  a.p_key_index = header.addr.pkey_index;
  if (header.addr.grh_present != 0) {
    ib::mad::Grh grh;
    std::memcpy(grh.gid.bytes.data(), header.addr.gid, 16);
    grh.gid_index = header.addr.gid_index;
    grh.hop_limit = header.addr.hop_limit;
    grh.traffic_class = header.addr.traffic_class;
    grh.flow_label = ntohl(header.addr.flow_label);
    a.grh = grh;
  }
  const std::size_t first = std::min(size, ib::wire::kMadBytes);
  std::memcpy(m.packet.mad.bytes.data(), data, first);
  m.packet.more.assign(data + first, data + size);
  return m;
}

ib_user_mad to_header(const UserMad& m) {
  ib_user_mad header = {};
  header.agent_id = static_cast<std::uint32_t>(m.agent);
  header.status = m.status;
  header.timeout_ms = m.timeout_ms;
  header.retries = m.retries;
  header.length = static_cast<std::uint32_t>(kUmadHeaderBytes) + m.length;
  const ib::mad::Address& a = m.packet.address;
  header.addr.lid = htons(a.lid.value);
  header.addr.qpn = htonl(a.qpn);
  header.addr.sl = a.sl.value;
  header.addr.path_bits = a.path_bits;
  header.addr.pkey_index = a.p_key_index;
  if (a.grh) {
    header.addr.grh_present = 1;
    std::memcpy(header.addr.gid, a.grh->gid.bytes.data(), 16);
    header.addr.gid_index = a.grh->gid_index;
    header.addr.hop_limit = a.grh->hop_limit;
    header.addr.traffic_class = a.grh->traffic_class;
    header.addr.flow_label = htonl(a.grh->flow_label);
  }
  return header;
}

struct Host;

struct Connection {
  enum class Kind { New, Port, Issm, Text, Closed };
  int fd{-1};
  Kind kind{Kind::New};
  Host* host{};
  std::uint64_t id{};
  FileId file{};
  IssmId issm{};
  bool issm_told{false};
  bool wants_write{false};
  ib_user_mad long_header{};         // of a message that comes in several frames
  std::vector<std::byte> long_data;  // what has come of it
  std::deque<UserMad> out;           // taken from the kernel, not yet written
  std::size_t written{0};            // data bytes of out.front() already written
  std::string text;                  // Text: what is left to be written
};

struct Host {
  Host(Model& model, PortRef where) : port(where), attachment(model, where), kernel(attachment) {}
  PortRef port;
  ib::sim::ModelAttachment attachment;
  HostKernel kernel;
  std::vector<Connection*> connections;
  Instant due{ib::kNever};
  bool touched{false};
};

struct PortHash {
  std::size_t operator()(const PortRef& p) const {
    return std::hash<std::uint64_t>{}(std::uint64_t{p.node} << 8 | p.port);
  }
};

}  // namespace

struct Server::Impl {
  Impl(Model& m, Command c)
      : model(m), command(std::move(c)), read_buffers(kReadBatch * kFrameBytes) {}

  Model& model;
  Command command;
  std::string path;
  int listener{-1};
  int epoll{-1};
  Instant last{};
  std::uint64_t next_id{1};
  std::unordered_map<int, std::unique_ptr<Connection>> connections;  // by descriptor
  std::unordered_map<std::uint64_t, Connection*> ports_by_id;
  std::unordered_map<PortRef, std::unique_ptr<Host>, PortHash> hosts;
  std::set<std::pair<Instant, Host*>> timers;
  std::vector<Host*> touched;
  std::vector<std::byte> read_buffers;

  ~Impl() {
    for (auto& [fd, c] : connections) ::close(fd);
    if (listener >= 0) {
      ::close(listener);
      ::unlink(path.c_str());
    }
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
      while (auto delivery = model.next_delivery()) {
        Host& host = host_at(delivery->port);
        host.kernel.on_delivery(last, *delivery);
        touch(host);
        busy = true;
      }
      while (!timers.empty() && timers.begin()->first <= last) {
        Host& host = *timers.begin()->second;
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
        if (c->kind == Connection::Kind::Port) flush(*c);
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
    if (due == host.due) return;
    if (host.due != ib::kNever) timers.erase({host.due, &host});
    host.due = due;
    if (due != ib::kNever) timers.emplace(due, &host);
  }

  Host& host_at(PortRef port) {
    auto& host = hosts[port];
    if (!host) host = std::make_unique<Host>(model, port);
    return *host;
  }

  /// How long epoll may sleep; nullopt: until something arrives.
  std::optional<timespec> sleep_time() {
    Instant due = model.next_event();
    if (!timers.empty()) due = std::min(due, timers.begin()->first);
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

  void accept_all() {
    for (;;) {
      const int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
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
      }
      if (c.kind == Connection::Kind::Issm) {
        host.kernel.issm_close(now(), c.issm);
        tell_issm(host);
      }
      set_timer(host);
    }
    c.kind = Connection::Kind::Closed;
    ::close(c.fd);  // leaves the epoll set by itself: nobody else has this descriptor
    connections.erase(c.fd);
  }

  void on_ready(int fd, std::uint32_t events) {
    const auto found = connections.find(fd);
    if (found == connections.end()) return;
    Connection& c = *found->second;
    if ((events & EPOLLOUT) != 0) flush(c);
    if (c.kind == Connection::Kind::Text && c.text.empty()) return close(c);
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
    switch (c.kind) {
      case Connection::Kind::New:
        return on_request(c);
      case Connection::Kind::Port:
        if (!read_port(c)) close(c);
        return;
      default:  // nothing is expected; the end is what comes
        char byte;
        if (recv(c.fd, &byte, 1, 0) == 0 || (events & EPOLLERR) != 0) close(c);
    }
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
    const ssize_t n = recv(c.fd, read_buffers.data(), kFrameBytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    Request request;
    if (n < static_cast<ssize_t>(sizeof request)) return close(c);
    std::memcpy(&request, read_buffers.data(), sizeof request);
    request.at[sizeof request.at - 1] = 0;
    if (request.protocol != kProtocol) {
      reply_result(c, -EPROTO);
      return close(c);
    }
    const std::vector<std::byte> more(read_buffers.begin() + sizeof request,
                                      read_buffers.begin() + n);
    switch (request.op) {
      case Op::OpenPort:
        return open_port(c, request);
      case Op::OpenIssm:
        return open_issm(c, request);
      case Op::Ctl:
        return run_command(c, more);
      case Op::Describe:
        describe(c, request);
        return close(c);
      default:
        reply_result(c, on_port_request(request, more));
        return close(c);
    }
  }

  void describe(Connection& c, const Request& request) {
    Description d = {};
    d.reply.protocol = kProtocol;
    const auto& fabric = model.topology();
    const auto place = find_place(fabric, request.at);
    if (!place) {
      d.reply.result = -ENODEV;
      return reply(c, d);
    }
    const auto& node = fabric.node(place->node);
    const auto info = model.node_info(place->node);
    d.node_type = static_cast<std::uint32_t>(info.node_type);
    d.device_id = info.device_id;
    d.revision = info.revision;
    d.node_guid = info.node_guid.value;
    d.system_guid = info.system_image_guid.value;
    d.default_port = place->port.value_or(0);
    d.num_ports = node.is_switch() ? 0 : std::min<int>(node.num_ports, kPortsMax - 1);
    for (int p = node.is_switch() ? 0 : 1; p <= d.num_ports; ++p) {
      d.ports[p] = describe_port({place->node, static_cast<std::uint8_t>(p)});
    }
    reply(c, d);
  }

  PortDescription describe_port(PortRef port) const {
    const auto info = model.port_info(port);
    PortDescription p = {};
    p.present = 1;
    p.lid = info.lid.value;
    p.lmc = info.lmc;
    p.sm_lid = info.master_sm_lid.value;
    p.sm_sl = info.master_sm_sl.value;
    p.state = static_cast<std::uint8_t>(info.port_state);
    p.phys_state = static_cast<std::uint8_t>(info.port_physical_state);
    p.rate_gbps = sysfs_rate(info);
    p.cap_mask = info.capability_mask;
    p.gid_prefix = info.gid_prefix;
    const auto guids = model.guids(port);
    p.guid = guids.empty() ? 0 : guids.front().value;
    const auto keys = model.p_keys(port);
    p.p_key_count = static_cast<std::uint16_t>(std::min(keys.size(), kPKeysMax));
    for (std::size_t i = 0; i < p.p_key_count; ++i) p.p_keys[i] = keys[i].value;
    return p;
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
    c.kind = Connection::Kind::Port;
    c.host = &host_at(*port);
    c.host->connections.push_back(&c);
    c.file = c.host->kernel.open();
    c.id = next_id++;
    ports_by_id[c.id] = &c;
    reply_result(c, 0, c.id);
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

  /// Tells whoever holds the issm file now, if it does not know yet.
  void tell_issm(Host& host) {
    for (Connection* c : host.connections) {
      if (c->kind != Connection::Kind::Issm || c->issm_told) continue;
      if (!host.kernel.issm_granted(c->issm)) continue;
      c->issm_told = true;
      reply_result(*c, 0);
    }
  }

  /// Register, Unregister and Send, which speak of a port that is open on another connection. What
  /// was written there before comes first.
  std::int32_t on_port_request(const Request& request, const std::vector<std::byte>& more) {
    const auto found = ports_by_id.find(request.port_id);
    if (found == ports_by_id.end()) return -EBADF;
    Connection& c = *found->second;
    if (!read_port(c)) return -EBADF;
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
      case Op::Send: {
        if (more.size() < kUmadHeaderBytes) return -EINVAL;
        ib_user_mad header;
        std::memcpy(&header, more.data(), kUmadHeaderBytes);
        return send(c, header, more.data() + kUmadHeaderBytes, more.size() - kUmadHeaderBytes);
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
    flush(c);
    if (c.text.empty()) close(c);
  }

  // ---- MADs -----------------------------------------------------------------------------------

  /// Takes what has come from a client. False: the client is gone.
  bool read_port(Connection& c) {
    std::array<mmsghdr, kReadBatch> messages;
    std::array<iovec, kReadBatch> parts;
    for (std::size_t turn = 0; turn < kReadsPerTurn; ++turn) {
      for (std::size_t i = 0; i < kReadBatch; ++i) {
        parts[i] = {read_buffers.data() + i * kFrameBytes, kFrameBytes};
        messages[i] = {};
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
      }
      const int n = recvmmsg(c.fd, messages.data(), kReadBatch, MSG_DONTWAIT, nullptr);
      if (n < 0) return errno == EAGAIN || errno == EINTR;
      for (int i = 0; i < n; ++i) {
        const auto size = messages[static_cast<std::size_t>(i)].msg_len;
        if (size == 0) return false;
        on_frame(c, read_buffers.data() + static_cast<std::size_t>(i) * kFrameBytes, size);
      }
      if (n == 0) return false;
      if (n < static_cast<int>(kReadBatch)) return true;
    }
    return true;
  }

  void on_frame(Connection& c, const std::byte* data, std::size_t size) {
    if (!c.long_data.empty()) {
      c.long_data.insert(c.long_data.end(), data, data + size);
      if (c.long_data.size() + kUmadHeaderBytes < c.long_header.length) return;
      const std::vector<std::byte> whole = std::move(c.long_data);
      c.long_data.clear();
      send(c, c.long_header, whole.data(), whole.size());
      return;
    }
    if (size <= kUmadHeaderBytes) return;
    ib_user_mad header;
    std::memcpy(&header, data, kUmadHeaderBytes);
    data += kUmadHeaderBytes;
    if (header.length > kMessageBytesMax) return;
    if (header.length > size) {
      c.long_header = header;
      c.long_data.assign(data, data + (size - kUmadHeaderBytes));
      return;
    }
    send(c, header, data, size - kUmadHeaderBytes);
  }

  std::int32_t send(Connection& c, const ib_user_mad& header, const std::byte* data,
                    std::size_t size) {
    UserMad m = from_frame(header, data, size);
    const int result = c.host->kernel.send(now(), c.file, m);
    touch(*c.host);
    return result;
  }

  void flush(Connection& c) {
    bool blocked = false;
    if (c.kind == Connection::Kind::Port) {
      blocked = !flush_port(c);
    } else if (c.kind == Connection::Kind::Text) {
      while (!c.text.empty() && !blocked) {
        const std::size_t n = std::min(c.text.size(), kFrameBytes);
        blocked = ::send(c.fd, c.text.data(), n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0;
        if (!blocked || errno != EAGAIN) c.text.erase(0, blocked ? c.text.size() : n);
      }
    }
    if (blocked == c.wants_write) return;
    c.wants_write = blocked;
    watch(c.fd, blocked ? EPOLLIN | EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
  }

  /// Writes what the kernel has for a client. False: the client is behind.
  bool flush_port(Connection& c) {
    HostKernel& kernel = c.host->kernel;
    std::array<mmsghdr, kWriteBatch> messages;
    std::array<ib_user_mad, kWriteBatch> headers;
    std::array<std::array<iovec, 2>, kWriteBatch> parts;
    for (;;) {
      while (c.out.size() < kWriteBatch) {
        const UserMad* front = kernel.front(c.file);
        if (front == nullptr) break;
        c.out.push_back(kernel.take(c.file));
      }
      if (c.out.empty()) return true;
      if (c.out.front().length > ib::wire::kMadBytes) {
        if (!write_long(c)) return false;
        continue;
      }
      unsigned count = 0;
      for (; count < c.out.size() && c.out[count].length <= ib::wire::kMadBytes; ++count) {
        UserMad& m = c.out[count];
        headers[count] = to_header(m);
        parts[count] = {
            {{&headers[count], kUmadHeaderBytes}, {m.packet.mad.bytes.data(), m.length}}};
        messages[count] = {};
        messages[count].msg_hdr.msg_iov = parts[count].data();
        messages[count].msg_hdr.msg_iovlen = 2;
      }
      const int n = sendmmsg(c.fd, messages.data(), count, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0) return !(errno == EAGAIN || errno == EINTR) && drop_output(c);
      c.out.erase(c.out.begin(), c.out.begin() + n);
    }
  }

  /// The peer is gone; its descriptor will say so.
  static bool drop_output(Connection& c) {
    c.out.clear();
    c.written = 0;
    return true;
  }

  /// The front message in frames, as far as the socket takes them.
  bool write_long(Connection& c) {
    const UserMad& m = c.out.front();
    std::vector<std::byte> whole(m.length);
    const std::size_t first = std::min<std::size_t>(m.length, ib::wire::kMadBytes);
    std::memcpy(whole.data(), m.packet.mad.bytes.data(), first);
    std::memcpy(whole.data() + first, m.packet.more.data(), m.length - first);
    ib_user_mad header = to_header(m);
    while (c.written < whole.size()) {
      const bool starts = c.written == 0;
      const std::size_t room = starts ? kFrameBytes - kUmadHeaderBytes : kFrameBytes;
      const std::size_t n = std::min(room, whole.size() - c.written);
      iovec parts[2] = {{&header, kUmadHeaderBytes}, {whole.data() + c.written, n}};
      msghdr message = {};
      message.msg_iov = starts ? parts : parts + 1;
      message.msg_iovlen = starts ? 2 : 1;
      if (sendmsg(c.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        return !(errno == EAGAIN || errno == EINTR) && drop_output(c);
      }
      c.written += n;
    }
    c.written = 0;
    c.out.pop_front();
    return true;
  }
};

Server::Server(Model& model, Command command)
    : impl_(std::make_unique<Impl>(model, std::move(command))) {}
Server::~Server() = default;

namespace {

/// What stands at `path` and is no socket; nullptr: nothing does. A link counts as itself, since
/// unlink() would take the link and not what it leads to.
const char* what_else_is_there(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || S_ISSOCK(status.st_mode)) return nullptr;
  if (S_ISREG(status.st_mode)) return "a regular file";
  if (S_ISDIR(status.st_mode)) return "a directory";
  if (S_ISLNK(status.st_mode)) return "a symbolic link";
  if (S_ISFIFO(status.st_mode)) return "a pipe";
  return "a device";
}

}  // namespace

Result<void> Server::listen(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return ib::fail(ErrorKind::Usage, "socket path '" + path + "': expected 1 to 107 characters");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  auto* const where = reinterpret_cast<sockaddr*>(&address);

  const int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const bool taken = connect(probe, where, sizeof address) == 0;
  const bool abandoned = !taken && errno == ECONNREFUSED;
  ::close(probe);
  if (taken) return ib::fail(ErrorKind::Unavailable, path + ": another server is listening there");
  if (const char* other = what_else_is_there(path)) {
    return ib::fail(ErrorKind::Unavailable,
                    path + ": there is " + other + ", and only a socket left behind is replaced");
  }
  if (abandoned) ::unlink(path.c_str());

  impl_->epoll = epoll_create1(EPOLL_CLOEXEC);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 || impl_->epoll < 0 || bind(fd, where, sizeof address) < 0) {
    const std::string why = errno_text();
    if (fd >= 0) ::close(fd);
    return ib::fail(ErrorKind::Unavailable, path + ": " + why);
  }
  impl_->listener = fd;
  impl_->path = path;
  if (::listen(fd, 4096) < 0) return ib::fail(ErrorKind::Unavailable, path + ": " + errno_text());
  impl_->watch(fd, EPOLLIN, EPOLL_CTL_ADD);
  return {};
}

int Server::run(int signal_fd, const std::function<std::optional<int>(int signal)>& on_signal) {
  impl_->watch(signal_fd, EPOLLIN, EPOLL_CTL_ADD);
  std::array<epoll_event, 64> events;
  for (;;) {
    const auto sleep = impl_->sleep_time();
    const int n = epoll_pwait2(impl_->epoll, events.data(), static_cast<int>(events.size()),
                               sleep ? &*sleep : nullptr, nullptr);
    for (int i = 0; i < n; ++i) {
      const epoll_event& e = events[static_cast<std::size_t>(i)];
      if (e.data.fd == impl_->listener) {
        impl_->accept_all();
      } else if (e.data.fd == signal_fd) {
        signalfd_siginfo info;
        if (read(signal_fd, &info, sizeof info) != sizeof info) continue;
        if (const auto status = on_signal(static_cast<int>(info.ssi_signo))) return *status;
      } else {
        impl_->on_ready(e.data.fd, e.events);
      }
    }
    impl_->settle();
  }
}

}  // namespace ibfabric
