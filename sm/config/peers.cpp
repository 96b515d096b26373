// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/config/peers.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <optional>

#include "libdiag/base/ids.h"
#include "libdiag/base/text.h"

namespace sm::config {
namespace {

using Address = std::array<std::byte, 16>;
constexpr unsigned kBits = 128, kIpv4Bits = 32, kMappedBits = kBits - kIpv4Bits;

Address mapped(const in_addr& ipv4) {
  Address address{};
  address[10] = address[11] = std::byte{0xFF};
  std::memcpy(&address[12], &ipv4, sizeof ipv4);
  return address;
}

struct Read {
  Address address{};
  bool is_ipv4{};
};
std::optional<Read> read_address(const std::string& text) {
  Read read;
  in_addr ipv4{};
  if (inet_pton(AF_INET, text.c_str(), &ipv4) == 1) return Read{mapped(ipv4), true};
  if (inet_pton(AF_INET6, text.c_str(), read.address.data()) == 1) return read;
  return std::nullopt;
}

bool begin_alike(const Address& a, const Address& b, unsigned bits) {
  for (unsigned i = 0; i < bits; i += 8) {
    const unsigned left = std::min(8U, bits - i);
    const auto mask = static_cast<std::byte>(0xFF00U >> left);
    if ((a[i / 8] & mask) != (b[i / 8] & mask)) return false;
  }
  return true;
}

}  // namespace

ib::Result<Peers> Peers::read(std::string_view text) {
  Peers peers;
  std::string blanks(text);
  for (char& c : blanks)
    if (c == '\t' || c == ',') c = ' ';
  for (const std::string_view word : ib::split(blanks, ' ')) {
    if (word.empty()) continue;
    const std::size_t slash = word.find('/');
    const auto address = read_address(std::string(word.substr(0, slash)));
    const unsigned most = address && address->is_ipv4 ? kIpv4Bits : kBits;
    std::uint64_t length = most;
    if (!address || (slash != std::string_view::npos &&
                     !ib::parse_number(word.substr(slash + 1), most, length)))
      return ib::fail(ib::ErrorKind::Usage,
                      "expected addresses or prefixes (192.0.2.7, 10.0.0.0/8, fd00::/8), got '" +
                          ib::printable(word) + "'");
    peers.prefixes_.push_back(
        {address->address, static_cast<unsigned>(length) + (address->is_ipv4 ? kMappedBits : 0U)});
  }
  return peers;
}

bool Peers::contain(const sockaddr_storage& address) const {
  Address peer{};
  if (address.ss_family == AF_INET) {
    sockaddr_in ipv4{};
    std::memcpy(&ipv4, &address, sizeof ipv4);
    peer = mapped(ipv4.sin_addr);
  } else if (address.ss_family == AF_INET6) {
    sockaddr_in6 ipv6{};
    std::memcpy(&ipv6, &address, sizeof ipv6);
    std::memcpy(peer.data(), &ipv6.sin6_addr, peer.size());
  } else {
    return false;
  }
  for (const Prefix& prefix : prefixes_)
    if (begin_alike(prefix.address, peer, prefix.length)) return true;
  return false;
}

}  // namespace sm::config
