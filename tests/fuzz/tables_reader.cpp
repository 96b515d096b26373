// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Forwarding tables and hop counts as operators hand them in.
#include <string_view>

#include "libdiag/tables/dump.h"
#include "libdiag/tables/lid_matrix.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<ib::Guid> owners;
  static_cast<void>(ib::tables::read_tables(text, "fuzz", &owners));
  static_cast<void>(ib::tables::read_lid_matrix(text, "fuzz"));
  return 0;
}
