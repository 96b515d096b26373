// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What every fuzz target has: the entry point, a check that ends the process, and a reader that
// turns fuzz input into small decisions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace ib::fuzz {

/// A promise of the code under test; libFuzzer reports the abort with the input that caused it.
inline void require(bool kept, const char* promise) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}
  bool empty() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t b = rest_.front();
    rest_ = rest_.subspan(1);
    return b;
  }
  std::uint32_t word() {
    std::uint32_t v = 0;
    for (int i = 0; i < 4; ++i) v = (v << 8) | byte();
    return v;
  }
  std::span<const std::byte> rest() const { return std::as_bytes(rest_); }

 private:
  std::span<const std::uint8_t> rest_;
};

}  // namespace ib::fuzz
