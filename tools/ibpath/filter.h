// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Query: a request for records of one kind, filled in by the names of its fields. The names, their
// places, widths, values and component bits are those of the record's layout; there is no second
// list of them.
//
//   NodeType=Switch   NodeInfo.NumPorts=36   P_Key=0x8001   ServiceData8[3]=7   Mtu>1024   Rate<100
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"
#include "libdiag/wire/registry.h"

namespace ibpath {

/// One element of one field of a record, nested structures taken apart.
struct Spot {
  const ib::wire::FieldInfo* field{};
  std::size_t base{};   // byte at which the structure that has the field begins
  std::size_t index{};  // element
  int sa_bit{-1};       // component bit, or -1: the SA cannot select by it
  std::string name;     // "NodeInfo.NodeGUID"
};

/// Finds a field by its name: the whole ("NodeInfo.NodeGUID") or its last part where only one field
/// has it; case, '_' and '-' do not matter. Usage, with the names there are, when there is none.
ib::Result<Spot> find_field(const ib::wire::StructureInfo& structure, std::string_view name);

/// Every name find_field() knows, in the order of the layout.
std::vector<std::string> field_names(const ib::wire::StructureInfo& structure);

class Query {
 public:
  explicit Query(const ib::wire::StructureInfo& structure);

  /// "Field=value", and "Field>value", "Field<value" for a field with a selector (MTU, rate, packet
  /// life), "Field=largest" too. The value is a number, a name the field's values have, a GID, a
  /// GUID, text. Of an MTU, a rate, a width or a speed a bare number is that, in bytes, Gb/s or
  /// lanes, and a code is hexadecimal; where there is a selector, 0x90 is one and a code. A field
  /// that was said before is refused: a request has room for one condition.
  ib::Result<void> add(std::string_view condition);
  ib::Result<void> set(const Spot& spot, std::string_view value);
  /// Whether there is a condition on the field of that (whole) name.
  bool says(std::string_view name) const;

  std::span<const std::byte> body() const { return body_; }
  std::uint64_t mask() const { return mask_; }

  /// The record has every value that was asked for, except keys, which an SA may hide. True of what
  /// an SA that honours every component bit answers.
  bool satisfied_by(std::span<const std::byte> record) const;
  /// Conditions that the SA cannot judge, having no component bit for them.
  bool has_own_conditions() const;
  bool satisfies_own_conditions(std::span<const std::byte> record) const;

 private:
  ib::Result<void> claim(const Spot& spot, std::string_view condition);
  ib::Result<void> assign(const Spot& spot, std::string_view value);
  void write(const Spot& spot, std::uint64_t raw);
  bool equal(const Spot& spot, std::span<const std::byte> record) const;

  const ib::wire::StructureInfo* structure_;
  std::vector<std::byte> body_;
  std::uint64_t mask_{0};
  std::vector<Spot> said_;   // selectors included
  std::vector<Spot> spots_;  // of which the record is to have the value
};

}  // namespace ibpath
