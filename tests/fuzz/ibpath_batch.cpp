// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any bytes as ibpath's batch file: every line is read or complained of, complaints are printable,
// and what was read asks for what it says.
#include <algorithm>
#include <string>

#include "tests/fuzz/fuzz.h"
#include "tools/ibpath/batch.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ib::fuzz::require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto batch = ibpath::read_batch(text, "file", {});
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  require(batch.lines.size() + batch.complaints.size() <= lines, "at most one result a line");
  std::size_t before = 0;
  for (const auto& line : batch.lines) {
    require(line.number > before && line.number <= lines, "lines are numbered upwards");
    before = line.number;
    require(line.pair.query.body().size() == ib::wire::LayoutOf<ib::wire::PathRecord>::kBytes,
            "a whole record");
    const auto query = ibpath::path_query({ib::Lid{1}, {}}, {ib::Lid{2}, {}}, line.pair.query);
    require((query.mask & 0x30) == 0x30, "the ends are asked for");
    require(line.pair.query.satisfied_by(line.pair.query.body()), "a query satisfies itself");
  }
  for (const auto& complaint : batch.complaints) {
    require(complaint.starts_with("file:"), "a complaint names the line");
    for (const char c : complaint)
      require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F, "a complaint is printable");
  }
  return 0;
}
