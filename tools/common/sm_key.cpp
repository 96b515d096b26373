// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/common/sm_key.h"

#include <fmt/format.h>

#include "libdiag/base/ids.h"
#include "libdiag/base/text.h"
#include "libdiag/fabric/text_file.h"

namespace ib::tools {

Result<std::uint64_t> sm_key(std::uint64_t key, const std::string& file) {
  if (file.empty()) return key;
  const auto text = fabric::read_file_or_pipe(file);
  if (!text) return tl::unexpected<Error>(text.error());
  const auto word = trim(*text);
  std::uint64_t read = 0;
  if (parse_number(word, UINT64_MAX, read)) return read;
  // What was taken for a key may be one: it is not shown.
  return fail(ErrorKind::Usage, fmt::format("{}:1:1: expected a number, got {}", file,
                                            word.empty() ? "nothing" : "something else"));
}

}  // namespace ib::tools
