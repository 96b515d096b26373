// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/console/port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace sm::console {
namespace {

constexpr int kBacklog = 16;

bool bind_ipv4(int fd, in_addr_t address, std::uint16_t port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(address);
  to.sin_port = htons(port);
  return bind(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
}

bool bind_all_of_ipv6(int fd, std::uint16_t port) {
  const int no = 0;
  setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_addr = in6addr_any;
  to.sin6_port = htons(port);
  return bind(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
}

control::Descriptor fresh(int family) {
  control::Descriptor made(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (made.get() < 0) return made;
  // A restart does not wait for connections of before.
  const int yes = 1;
  setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  return made;
}

}  // namespace

ib::Result<control::Descriptor> listen_at(Reach reach, std::uint16_t port) {
  control::Descriptor listening;
  bool is_bound = false;
  if (reach == Reach::AllAddresses) {
    listening = fresh(AF_INET6);
    is_bound = listening.get() >= 0 && bind_all_of_ipv6(listening.get(), port);
  }
  if (!is_bound && (reach == Reach::Loopback || errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) {
    listening = fresh(AF_INET);
    is_bound =
        listening.get() >= 0 &&
        bind_ipv4(listening.get(), reach == Reach::Loopback ? INADDR_LOOPBACK : INADDR_ANY, port);
  }
  if (is_bound && listen(listening.get(), kBacklog) == 0) return listening;
  const int why = errno;
  return ib::fail(ib::ErrorKind::Io,
                  "cannot listen on TCP port " + std::to_string(port) + ": " + std::strerror(why) +
                      (why == EAFNOSUPPORT ? "; the unit of systemd keeps ibsm from the network, "
                                             "CONSOLE in ibsm(8) has what opens it"
                                           : "; name another (--console-port)"));
}

std::uint16_t port_of(int listening) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  // At the same place in both families.
  sockaddr_in ipv4{};
  std::memcpy(&ipv4, &address, sizeof ipv4);
  return ntohs(ipv4.sin_port);
}

std::string peer_name(int connection) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getpeername(connection, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  std::array<char, INET6_ADDRSTRLEN> name{};
  const void* bytes = nullptr;
  sockaddr_in ipv4{};
  sockaddr_in6 ipv6{};
  std::memcpy(&ipv4, &address, sizeof ipv4);
  std::memcpy(&ipv6, &address, sizeof ipv6);
  bytes = address.ss_family == AF_INET ? static_cast<const void*>(&ipv4.sin_addr)
                                       : static_cast<const void*>(&ipv6.sin6_addr);
  if (inet_ntop(address.ss_family, bytes, name.data(), name.size()) == nullptr) return {};
  return name.data();
}

bool is_peer_among(int connection, const config::Peers& peers) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  return getpeername(connection, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
         peers.contain(address);
}

}  // namespace sm::console
