// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/config/activity.h"

#include <array>

#include "libdiag/base/diagnostic.h"
#include "libdiag/base/text.h"

namespace sm::config {
namespace {

constexpr std::array<std::string_view, 6> kWords = {"mc", "prtn", "virt", "routing", "all", "none"};
constexpr std::array<std::uint8_t, 6> kBits = {1, 2, 4, 8, 0x0F, 0};

}  // namespace

ib::Result<std::uint8_t> activity_subjects(std::string_view list) {
  unsigned subjects = 0;
  if (ib::trim(list).empty()) return std::uint8_t{0};
  const auto words = ib::split(list, ',');
  for (std::string_view word : words) {
    word = ib::trim(word);
    if (word == "none" && words.size() > 1)
      return ib::fail(ib::ErrorKind::Usage,
                      "expected none alone, got '" + ib::printable(list) + "'");
    std::size_t i = 0;
    while (i < kWords.size() && kWords[i] != word) ++i;
    if (i == kWords.size()) {
      const auto near = ib::nearest_word(word, kWords);
      return ib::fail(
          ib::ErrorKind::Usage,
          "expected mc, prtn, virt, routing, all or none, got '" + ib::printable(word) + "'" +
              (near.empty() ? std::string() : "; did you mean '" + std::string(near) + "'?"));
    }
    subjects |= kBits[i];
  }
  return static_cast<std::uint8_t>(subjects);
}

}  // namespace sm::config
