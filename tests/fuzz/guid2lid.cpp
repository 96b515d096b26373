// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any text as guid2lid. An import: an error of one line, or LIDs that are read again as they are
// written, none of them two ports'. A salvage takes all that an import takes.
#include "sm/store/guid2lid.h"

#include <set>
#include <string_view>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ib::fuzz::require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto salvaged = sm::store::salvage_guid2lid(text);
  const auto lids = sm::store::import_guid2lid(text);
  if (!lids) {
    require(lids.error().message.find('\n') == std::string::npos, "an error is one line");
    return 0;
  }
  std::set<unsigned> taken;
  for (const auto& claim : *lids)
    for (unsigned i = 0; i < (1U << claim.lmc); ++i)
      require(taken.insert(claim.lid.value + i).second, "a LID is one port's");
  const auto again = sm::store::import_guid2lid(sm::store::write_guid2lid(*lids));
  require(again && *again == *lids, "what was written is read again");
  require(salvaged.lids == *lids && salvaged.lines_not_read == 0, "a salvage loses nothing");
  return 0;
}
