// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Component masks: which bits of a record each mask bit stands for, and whether two encoded records
// agree in the masked components (IBA 15.2.5). Derived from the layouts of libdiag/wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "libdiag/wire/sa_records.h"

namespace sm::sa {

/// One component: `width` bits at bit `at` of the record.
struct Component {
  std::uint8_t mask_bit{};
  std::uint16_t at{};
  std::uint16_t width{};
  bool text{false};  // compared up to the first NUL only
};

/// Components of a record type, ascending by mask bit. Mask bits without one are ignored.
template <class Record>
std::span<const Component> components();
template <>
std::span<const Component> components<ib::wire::NodeRecord>();
template <>
std::span<const Component> components<ib::wire::PortInfoRecord>();
template <>
std::span<const Component> components<ib::wire::PathRecord>();
template <>
std::span<const Component> components<ib::wire::McMemberRecord>();

/// Whether `a` and `b` agree in component `c`.
bool agrees(const Component& c, const std::byte* a, const std::byte* b);

/// Whether `record` agrees with `wanted` in every component that `mask` names.
bool matches(std::span<const Component> components, std::uint64_t mask, const std::byte* record,
             const std::byte* wanted);

constexpr bool has_bit(std::uint64_t mask, unsigned bit) { return ((mask >> bit) & 1) != 0; }
constexpr std::uint64_t bit(unsigned n) { return std::uint64_t{1} << n; }

}  // namespace sm::sa
