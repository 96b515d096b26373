// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What programs ask for by sockets: ports, issm and limits files, registrations, ctl.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "libdiag/base/text.h"
#include "tools/ibfabric/description.h"
#include "tools/ibfabric/place.h"
#include "tools/ibfabric/server_impl.h"

namespace ibfabric {

void Server::Impl::on_request(Connection& c) {
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
  const std::vector<std::byte> more(read_buffer.begin() + sizeof request, read_buffer.begin() + n);
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

std::optional<PortRef> Server::Impl::port_for(const Request& request, int port_num) const {
  const auto place = find_place(model.topology(), request.at);
  if (!place || port_num < 0 || port_num > 255) return std::nullopt;
  const PortRef port{place->node, static_cast<std::uint8_t>(port_num)};
  return is_host_port(model.topology(), port) ? std::optional(port) : std::nullopt;
}

void Server::Impl::open_port(Connection& c, const Request& request) {
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

void Server::Impl::reply_files(Connection& c) {
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

void Server::Impl::open_issm(Connection& c, const Request& request) {
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

Host* Server::Impl::host_of_limit(const Request& request) {
  const auto port = port_for(request, request.port_num);
  const bool known = request.agent >= 0 && request.agent <= kDrops;
  if (!port || !known || !model.faults().sa_congestion) return nullptr;
  return &host_at(*port);
}

void Server::Impl::read_limit(Connection& c, const Request& request) {
  const Host* host = host_of_limit(request);
  if (host == nullptr) return reply_result(c, -ENOENT);
  const HostKernel& kernel = host->kernel;
  reply_result(c, 0,
               request.agent == kDrops
                   ? kernel.sa_drops()
                   : kernel.sa_limits().*ib::mad::kSaLimits[request.agent].value);
}

void Server::Impl::open_limit(Connection& c, const Request& request) {
  c.host = host_of_limit(request);
  reply_result(c, c.host == nullptr ? -ENOENT : 0);
  if (c.host == nullptr) return close(c);
  c.kind = Connection::Kind::Limit;
  c.limit = request.agent;
  c.host->connections.push_back(&c);
}

void Server::Impl::write_limit(Connection& c) {
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

void Server::Impl::tell_issm(Host& host) {
  for (Connection* c : host.connections) {
    if (c->kind != Connection::Kind::Issm || c->issm_told) continue;
    if (!host.kernel.issm_granted(c->issm)) continue;
    c->issm_told = true;
    reply_result(*c, 0);
  }
}

std::int32_t Server::Impl::on_port_request(const Request& request,
                                           const std::vector<std::byte>& more) {
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

void Server::Impl::run_command(Connection& c, const std::vector<std::byte>& more) {
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

}  // namespace ibfabric
