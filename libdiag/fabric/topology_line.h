// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A place in a line of topology text, and what stands there: words and numbers are taken off the
// line from left to right. Private to the topology reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ib::fabric {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

class TopologyLine {
 protected:
  void start(std::string_view line) { line_ = line, at_ = 0; }

  bool at_end() const { return at_ >= line_.size(); }
  char peek() const { return at_end() ? '\0' : line_[at_]; }
  std::string_view rest() const { return line_.substr(at_); }
  void skip_blanks();
  bool take(char c);
  bool take(std::string_view word);
  std::string_view take_word();  // up to a blank
  bool take_number(std::uint64_t max, std::uint64_t& out, std::uint64_t min = 0);
  bool take_hex(std::uint64_t& out);  // with 0x or without

  std::string_view line_;
  std::size_t at_{0};
};

}  // namespace ib::fabric
