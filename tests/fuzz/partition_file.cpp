// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any text as a partition file: every diagnostic has a place inside the text and can be shown with
// its line; what was read without an error merges into partitions with keys of their own, and gives
// every port a key of the default partition.
#include <set>
#include <string>

#include "sm/policy/partitions.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ib::fuzz::require;
  using namespace sm::policy;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto file = read_partition_file(text, "fuzz.conf");
  GeneratedKeys keys;
  const auto partitions = merge_definitions(file, "fuzz.conf", keys, file.diagnostics);
  for (const auto& d : file.diagnostics) {
    require(d.place.line >= 1 && d.place.line <= size + 1, "a line of the text");
    require(!d.message.empty(), "a diagnostic says something");
    require(with_caret(d, text).starts_with("fuzz.conf:"), "it can be shown");
  }
  if (ib::has_errors(file.diagnostics)) return 0;
  std::set<std::uint16_t> seen;
  for (const auto& p : partitions.all) {
    require(p.p_key >= 1 && p.p_key <= 0x7FFF, "a key is 15 bits and not 0");
    require(seen.insert(p.p_key).second, "a key is that of one partition");
  }
  const EndPortFacts ports[] = {{ib::Guid{1}, EndPortKind::Ca, "head", 1, true},
                                {ib::Guid{2}, EndPortKind::Switch, "leaf", 0, false}};
  const auto held = port_partitions(partitions, ports);
  require(held[0].front().p_key.value == 0xFFFF, "the subnet manager is a full member");
  require(held[1].front().p_key.base() == 0x7FFF, "everybody is a member");
  return 0;
}
