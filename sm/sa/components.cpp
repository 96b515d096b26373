// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/components.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

namespace sm::sa {
namespace {

using namespace ib::wire;

struct NamedBit {
  std::string_view field;
  std::uint8_t bit;
};
/// PortInfo inside PortInfoRecord (IBA 15.2.5.3): not consecutive, since reserved fields have bits
/// of their own, and the fields added for XDR have none.
constexpr NamedBit kPortInfoBits[] = {{"M_Key", 3},
                                      {"GidPrefix", 4},
                                      {"LID", 5},
                                      {"MasterSMLID", 6},
                                      {"CapabilityMask", 7},
                                      {"DiagCode", 8},
                                      {"M_KeyLeasePeriod", 9},
                                      {"LocalPortNum", 10},
                                      {"LinkWidthEnabled", 11},
                                      {"LinkWidthSupported", 12},
                                      {"LinkWidthActive", 13},
                                      {"LinkSpeedSupported", 14},
                                      {"PortState", 15},
                                      {"PortPhysicalState", 16},
                                      {"LinkDownDefaultState", 17},
                                      {"M_KeyProtectBits", 18},
                                      {"LMC", 20},
                                      {"LinkSpeedActive", 21},
                                      {"LinkSpeedEnabled", 22},
                                      {"NeighborMTU", 23},
                                      {"MasterSMSL", 24},
                                      {"VLCap", 25},
                                      {"InitType", 26},
                                      {"VLHighLimit", 27},
                                      {"VLArbitrationHighCap", 28},
                                      {"VLArbitrationLowCap", 29},
                                      {"InitTypeReply", 30},
                                      {"MTUCap", 31},
                                      {"VLStallCount", 32},
                                      {"HOQLife", 33},
                                      {"OperationalVLs", 34},
                                      {"PartitionEnforcementInbound", 35},
                                      {"PartitionEnforcementOutbound", 36},
                                      {"FilterRawInbound", 37},
                                      {"FilterRawOutbound", 38},
                                      {"M_KeyViolations", 39},
                                      {"P_KeyViolations", 40},
                                      {"Q_KeyViolations", 41},
                                      {"GUIDCap", 42},
                                      {"ClientReregister", 43},
                                      {"SubnetTimeOut", 45},
                                      {"RespTimeValue", 47},
                                      {"LocalPhyErrors", 48},
                                      {"OverrunErrors", 49},
                                      {"MaxCreditHint", 50},
                                      {"LinkRoundTripLatency", 52},
                                      {"CapabilityMask2", 53},
                                      {"LinkSpeedExtActive", 54},
                                      {"LinkSpeedExtSupported", 55},
                                      {"LinkSpeedExtEnabled", 57}};

int port_info_bit(std::string_view field) {
  const auto* at = std::find_if(std::begin(kPortInfoBits), std::end(kPortInfoBits),
                                [&](const NamedBit& n) { return n.field == field; });
  return at == std::end(kPortInfoBits) ? -1 : at->bit;
}

template <class Value>
constexpr std::uint16_t elements() {
  if constexpr (IsArray<Value>::value) return IsArray<Value>::kCount;
  return 1;
}

/// Fields of a nested structure; `bit_of(index, name)` gives the mask bit or -1.
template <class Nested, class BitOf>
void append_nested(std::vector<Component>& list, std::size_t base, BitOf&& bit_of) {
  int index = 0;
  LayoutOf<Nested>::for_each([&](auto field) {
    using F = decltype(field);
    const int mask_bit = bit_of(index++, F::name());
    if (mask_bit < 0) return;
    list.push_back({static_cast<std::uint8_t>(mask_bit), static_cast<std::uint16_t>(base + F::kBit),
                    static_cast<std::uint16_t>(F::kWidth * elements<typename F::member_type>()),
                    F::kShow == Show::Text});
  });
}

template <class Record>
std::vector<Component> derive() {
  std::vector<Component> list;
  LayoutOf<Record>::for_each([&](auto field) {
    using F = decltype(field);
    using Value = typename F::member_type;
    if constexpr (std::is_same_v<Value, PortInfo>) {
      append_nested<Value>(list, F::kBit,
                           [](int, std::string_view name) { return port_info_bit(name); });
    } else if constexpr (Described<Value>) {
      append_nested<Value>(list, F::kBit,
                           [](int index, std::string_view) { return F::kSaBit + index; });
    } else if constexpr (F::kSaBit >= 0) {
      list.push_back({static_cast<std::uint8_t>(F::kSaBit), static_cast<std::uint16_t>(F::kBit),
                      static_cast<std::uint16_t>(F::kWidth), false});
    }
  });
  std::sort(list.begin(), list.end(),
            [](const Component& a, const Component& b) { return a.mask_bit < b.mask_bit; });
  return list;
}

template <class Record>
std::span<const Component> derived() {
  static const std::vector<Component> list = derive<Record>();
  return list;
}

std::uint8_t piece(const std::byte* from, std::size_t at, std::size_t width) {
  const unsigned b = std::to_integer<unsigned>(from[at / 8]);
  return static_cast<std::uint8_t>((b >> (8 - at % 8 - width)) & ((1U << width) - 1));
}

}  // namespace

template <>
std::span<const Component> components<NodeRecord>() {
  return derived<NodeRecord>();
}
template <>
std::span<const Component> components<PortInfoRecord>() {
  return derived<PortInfoRecord>();
}
template <>
std::span<const Component> components<PathRecord>() {
  return derived<PathRecord>();
}
template <>
std::span<const Component> components<McMemberRecord>() {
  return derived<McMemberRecord>();
}

bool agrees(const Component& c, const std::byte* a, const std::byte* b) {
  if (c.text) {
    return std::strncmp(reinterpret_cast<const char*>(a + c.at / 8),
                        reinterpret_cast<const char*>(b + c.at / 8), c.width / 8U) == 0;
  }
  std::size_t at = c.at;
  const std::size_t end = std::size_t{c.at} + c.width;
  while (at < end) {
    const std::size_t width = std::min(8 - at % 8, end - at);
    if (piece(a, at, width) != piece(b, at, width)) return false;
    at += width;
  }
  return true;
}

bool matches(std::span<const Component> components, std::uint64_t mask, const std::byte* record,
             const std::byte* wanted) {
  for (const auto& c : components)
    if (has_bit(mask, c.mask_bit) && !agrees(c, record, wanted)) return false;
  return true;
}

}  // namespace sm::sa
