// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The records ibpath asks for: saquery's names for them, what the operands behind the name mean,
// and where the text comes from. One row a record; everything else is its layout's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/wire/registry.h"

namespace ibpath {

struct TextOptions {
  bool keys{false};               // print keys
  bool multicast_fdb_top{false};  // the SA says that it knows SwitchInfo:MulticastFDBTop
};

struct RecordKind {
  std::string_view name;   // "NodeRecord"
  std::string_view alias;  // "NR"
  std::string_view plain;  // "nodes"
  std::uint16_t attribute{};
  const ib::wire::StructureInfo* structure{};
  /// Operands: names of fields with '/' between them, an operand each: "LID/BlockNum".
  std::vector<std::string_view> operands;
  /// The SA selects by equality of every field, so what it sends can be checked against the query
  /// (opensm does not honour every component bit). Not so where a field of the request means
  /// something else than in the answer, or is hidden from the untrusted.
  bool by_equality{false};
  std::string (*text)(std::span<const std::byte> record, const TextOptions& options){};
};

std::span<const RecordKind> record_kinds();
/// By any of its names, in any case; null: none.
const RecordKind* find_record(std::string_view word);

}  // namespace ibpath
