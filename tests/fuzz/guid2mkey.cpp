// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any text as guid2mkey: an error of one line, or keys that are read again as they are written.
#include "sm/store/guid2mkey.h"

#include <string_view>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ib::fuzz::require;
  const auto keys = sm::store::read_guid2mkey({reinterpret_cast<const char*>(data), size});
  if (!keys) {
    require(keys.error().message.find('\n') == std::string::npos, "an error is one line");
    return 0;
  }
  const auto again = sm::store::read_guid2mkey(sm::store::write_guid2mkey(*keys));
  require(again && *again == *keys, "what was written is read again");
  return 0;
}
