// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any bytes as any structure and as a MAD: decoding, encoding, text and JSON hold for all of them.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "libdiag/wire/all_structures.h"
#include "libdiag/wire/registry.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace ib::wire;
using ib::fuzz::require;

template <class T>
void check_codec(std::span<const std::byte> input) {
  std::vector<std::byte> bytes(LayoutOf<T>::kBytes), again = bytes, third = bytes;
  std::copy_n(input.begin(), std::min(input.size(), bytes.size()), bytes.begin());
  encode(decode<T>(bytes.data()), again.data());
  encode(decode<T>(again.data()), third.data());
  require(again == third, "decode and encode are inverse on what the fields cover");
}

void check_text(const StructureInfo& structure, std::span<const std::byte> input) {
  const FormatOptions options{true};
  const std::string text = dump(structure, input, options);
  for (const char c : text)
    require(c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F),
            "no control character in a dump");
  require(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) ==
              values(structure, input, options).size(),
          "one line a value");
  require(nlohmann::json::accept(to_json(structure, input, options)), "JSON parses");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ib::fuzz::Input in(data, size);
  const auto all = structures();
  const std::size_t chosen = in.byte() % (all.size() + 1);
  const auto input = in.rest();
  if (chosen == all.size()) {
    Mad mad;
    std::copy_n(input.begin(), std::min(input.size(), kMadBytes), mad.bytes.begin());
    require(!dump(mad).empty(), "every MAD has a dump");
    return 0;
  }
  check_text(*all[chosen], input);
  std::size_t index = 0;
  AllStructures::for_each([&]<class T>() {
    if (index++ == chosen) check_codec<T>(input);
  });
  return 0;
}
