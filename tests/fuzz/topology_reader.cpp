// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any text as a topology: an error in the promised form, or a fabric that can be written and read
// again.
#include <set>
#include <string>
#include <utility>

#include "libdiag/fabric/topology_text.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ib::fuzz::require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> warnings;
  const auto fabric = ib::fabric::read_topology(text, "fuzz.topo", &warnings);
  if (!fabric) {
    require(fabric.error().message.starts_with("fuzz.topo:"), "an error names file and place");
    require(fabric.error().kind == ib::ErrorKind::Usage, "a bad file is the caller's");
    return 0;
  }
  // Ids "S-1" and "S-01" are two nodes of one GUID: a duplicated GUID to simulate. The text we
  // write makes ids of GUIDs, so such a fabric is not read again.
  std::set<std::pair<bool, ib::Guid>> ids;
  for (const ib::fabric::Node& node : fabric->nodes())
    if (!ids.emplace(node.is_switch(), node.guid).second) return 0;
  const std::string written = ib::fabric::topology_text(*fabric);
  const auto again = ib::fabric::read_topology(written, "again.topo");
  require(again.has_value(), "what is written can be read");
  require(again->nodes().size() == fabric->nodes().size(), "and has the same nodes");
  return 0;
}
