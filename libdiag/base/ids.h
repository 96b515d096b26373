// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Strong identifiers of the InfiniBand vocabulary, always in host byte order.
// Byte order is the codec's business alone (libdiag/wire); nothing else swaps bytes.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace ib {

/// A value of type Rep that does not mix with other identifiers of the same width.
template <class Tag, class Rep>
struct StrongId {
  using rep_type = Rep;
  Rep value{};

  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep v) : value(v) {}
  friend constexpr auto operator<=>(StrongId, StrongId) = default;
};

/// Local identifier: 0 unassigned, 0x0001-0xBFFF unicast, 0xC000-0xFFFE multicast, 0xFFFF
/// permissive (IBA 4.1.3).
struct Lid : StrongId<struct LidTag, std::uint16_t> {
  using StrongId::StrongId;
  constexpr bool is_unicast() const { return value >= 0x0001 && value <= 0xBFFF; }
  constexpr bool is_multicast() const { return value >= 0xC000 && value <= 0xFFFE; }
};
inline constexpr Lid kNoLid{0};
inline constexpr Lid kPermissiveLid{0xFFFF};
inline constexpr Lid kLidUnicastMax{0xBFFF};
inline constexpr Lid kLidMulticastMin{0xC000};

/// EUI-64 of a node, a port or a system.
struct Guid : StrongId<struct GuidTag, std::uint64_t> {
  using StrongId::StrongId;
};

/// Partition key: bit 15 is full membership (IBA 10.9.1).
struct PKey : StrongId<struct PKeyTag, std::uint16_t> {
  using StrongId::StrongId;
  constexpr bool is_full() const { return (value & 0x8000) != 0; }
  constexpr std::uint16_t base() const { return value & 0x7FFF; }
};
inline constexpr PKey kDefaultPKey{0xFFFF};

/// Service level 0-15.
struct Sl : StrongId<struct SlTag, std::uint8_t> {
  using StrongId::StrongId;
};

/// Virtual lane 0-15; 15 carries management only.
struct Vl : StrongId<struct VlTag, std::uint8_t> {
  using StrongId::StrongId;
};

/// Port number of a node: 0 is the management port of a switch, 255 "none" or "all" by context.
struct PortNum : StrongId<struct PortNumTag, std::uint8_t> {
  using StrongId::StrongId;
};

/// MAD transaction identifier.
struct Tid : StrongId<struct TidTag, std::uint64_t> {
  using StrongId::StrongId;
};

/// Global identifier: 64 bits of subnet prefix, then the port's GUID; or a multicast GID (first
/// byte 0xFF).
struct Gid {
  std::array<std::uint8_t, 16> bytes{};

  static constexpr Gid from(std::uint64_t prefix, Guid guid) {
    Gid g;
    for (std::size_t i = 0; i < 8; ++i) {
      g.bytes[i] = static_cast<std::uint8_t>(prefix >> (56 - 8 * i));
      g.bytes[8 + i] = static_cast<std::uint8_t>(guid.value >> (56 - 8 * i));
    }
    return g;
  }
  constexpr std::uint64_t prefix() const { return half(0); }
  constexpr Guid guid() const { return Guid{half(8)}; }
  constexpr bool is_multicast() const { return bytes[0] == 0xFF; }
  constexpr bool is_zero() const { return half(0) == 0 && half(8) == 0; }
  friend constexpr auto operator<=>(const Gid&, const Gid&) = default;

 private:
  constexpr std::uint64_t half(std::size_t at) const {
    std::uint64_t v = 0;
    for (std::size_t i = 0; i < 8; ++i) v = (v << 8) | bytes[at + i];
    return v;
  }
};

inline constexpr std::uint64_t kDefaultSubnetPrefix = 0xFE80000000000000ULL;

// Text forms and readers (base/ids.cpp). The readers take the whole of `text` or return false.
std::string to_string(Lid lid);         // decimal
std::string to_string(Guid guid);       // 0x and 16 hex digits
std::string to_string(const Gid& gid);  // IPv6 text
bool parse_number(std::string_view text, std::uint64_t max,
                  std::uint64_t& out);              // decimal or 0x hex
bool parse_guid(std::string_view text, Guid& out);  // 0x hex, or 16 bare hex digits
bool parse_lid(std::string_view text, Lid& out);    // decimal or 0x hex, 1..0xFFFE
bool parse_gid(std::string_view text, Gid& out);    // IPv6 text

}  // namespace ib

template <class T>
  requires requires(T t) {
    typename T::rep_type;
    t.value;
  }
struct std::hash<T> {
  std::size_t operator()(const T& id) const noexcept {
    return std::hash<typename T::rep_type>{}(id.value);
  }
};
template <>
struct std::hash<ib::Gid> {
  std::size_t operator()(const ib::Gid& gid) const noexcept {
    return std::hash<std::uint64_t>{}(gid.prefix() * 0x9E3779B97F4A7C15ULL ^ gid.guid().value);
  }
};
