// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any text as SL2VL tables and as SLs of paths of a small ring: an error in the promised form, or
// VLs that can be written and read again.
#include <string>

#include "libdiag/fabric/generate.h"
#include "libdiag/tables/sl2vl_dump.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ib;
  using fuzz::require;
  static const fabric::Fabric ring = fabric::generate(fabric::Grid{{3}, true, 1, 1}).value();
  static const fabric::CompactGraph graph(ring);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto tables = tables::read_sl2vl(text, "fuzz", ring, graph); !tables) {
    require(tables.error().message.starts_with("fuzz:"), "an error names file and place");
    require(tables.error().kind == ErrorKind::Usage, "a bad file is the caller's");
  } else {
    std::string written, again;
    tables::append_sl2vl(written, ring, graph, *tables);
    const auto read = tables::read_sl2vl(written, "again", ring, graph);
    require(read.has_value(), "what is written can be read");
    tables::append_sl2vl(again, ring, graph, *read);
    require(written == again, "and says the same");
  }
  if (const auto sls = tables::read_path_sls(text, "fuzz", ring, graph); !sls) {
    require(sls.error().message.starts_with("fuzz:"), "an error names file and place");
    require(sls.error().kind == ErrorKind::Usage, "a bad file is the caller's");
  } else {
    std::string written;
    tables::append_path_sls(written, ring, graph, *sls);
    const auto read = tables::read_path_sls(written, "again", ring, graph);
    require(read.has_value(), "what is written can be read");
    std::string again;
    tables::append_path_sls(again, ring, graph, *read);
    require(written == again, "and says the same");
  }
  return 0;
}
