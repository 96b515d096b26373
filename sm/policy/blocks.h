// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Blocks of a policy file: a line that is a word, lines of `field: value`, and a line that is the
// word with `end-` before it. The fields of each kind of block are rows. Inside sm/policy and the
// readers of sm/config only.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "libdiag/base/text.h"
#include "sm/policy/text_line.h"
#include "sm/policy/words.h"

namespace sm::policy {

inline constexpr std::string_view kUse = "use";  // its value is free text

template <class Block>
struct Field {
  std::string_view key;
  bool repeats;
  void (*read)(Problems&, const Piece& value, Block&);
};

/// One line of a block. `seen` has the line of each field, 0 where it has not been; what repeats
/// counts its last line.
template <class Block>
void read_field(Problems& problems, const Piece& line, std::span<const Field<Block>> fields,
                std::span<std::uint32_t> seen, Block& block) {
  auto [key, value] = line.cut(':');
  if (!value) key = key.part(0, key.text.find_first_of(" \t="));
  const auto row = std::ranges::find_if(
      fields, [&](const Field<Block>& f) { return equal_words(f.key, key.text); });
  if (row == fields.end()) {
    std::vector<std::string_view> known;
    for (const auto& f : fields) known.push_back(f.key);
    problems.error(key.place, fmt::format("unknown word '{}'; here are {}{}",
                                          ib::printable(key.text.substr(0, 40)),
                                          fmt::join(known, ", "), did_you_mean(key.text, known)));
    return;
  }
  if (!value || value->text.empty()) {
    problems.error(key.place, fmt::format("expected ':' and a value after '{}'", row->key));
    return;
  }
  if (row->key != kUse && has_open_quote(value->text)) {
    problems.error(value->place, "a quote in this value is not closed");
    return;
  }
  std::uint32_t& first = seen[static_cast<std::size_t>(row - fields.begin())];
  if (first != 0 && !row->repeats) {
    problems.error(key.place, fmt::format("duplicate '{}' (first in line {})", row->key, first));
    return;
  }
  first = line.place.line;
  row->read(problems, *value, block);
}

/// A text that is nothing but blocks of one kind: `word` ... `end-word`. Each has a member `place`.
template <class Block, std::size_t N>
std::vector<Block> read_blocks(std::string_view text, std::string_view word,
                               const Field<Block> (&fields)[N], Problems& problems) {
  std::vector<Block> out;
  const std::string end = "end-" + std::string(word);
  std::array<std::uint32_t, N> seen{};
  bool is_open = false;
  ib::TextPlace last;
  for (const Piece& line : text_lines(text)) {
    last = line.place;
    if (equal_words(line.text, word)) {
      if (is_open)
        problems.error(line.place,
                       fmt::format("expected '{}' before this line: '{}' of line {} is not closed",
                                   end, word, out.back().place.line));
      is_open = true;
      seen = {};
      out.emplace_back().place = line.place;
    } else if (equal_words(line.text, end) && is_open) {
      is_open = false;
    } else if (is_open) {
      read_field(problems, line, std::span<const Field<Block>>(fields), seen, out.back());
    } else {
      problems.expected(fmt::format("'{}'", word), line);
    }
  }
  if (is_open)
    problems.error(last, fmt::format("'{}' of line {} is not closed: expected '{}' before the end "
                                     "of the file",
                                     word, out.back().place.line, end));
  return out;
}

}  // namespace sm::policy
