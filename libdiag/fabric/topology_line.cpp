// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/topology_line.h"

#include <charconv>

namespace ib::fabric {

void TopologyLine::skip_blanks() {
  while (!at_end() && is_blank(line_[at_])) ++at_;
}

bool TopologyLine::take(char c) {
  if (peek() != c || at_end()) return false;
  ++at_;
  return true;
}

bool TopologyLine::take(std::string_view word) {
  if (!rest().starts_with(word)) return false;
  at_ += word.size();
  return true;
}

std::string_view TopologyLine::take_word() {
  const std::size_t begin = at_;
  while (!at_end() && !is_blank(line_[at_])) ++at_;
  return line_.substr(begin, at_ - begin);
}

bool TopologyLine::take_number(std::uint64_t max, std::uint64_t& out, std::uint64_t min) {
  const char* begin = line_.data() + at_;
  const char* end = line_.data() + line_.size();
  const auto [stop, error] = std::from_chars(begin, end, out, 10);
  if (stop == begin || error != std::errc{} || out > max || out < min) return false;
  at_ += static_cast<std::size_t>(stop - begin);
  return true;
}

bool TopologyLine::take_hex(std::uint64_t& out) {
  if (rest().starts_with("0x") || rest().starts_with("0X")) at_ += 2;
  const char* begin = line_.data() + at_;
  const auto [stop, error] = std::from_chars(begin, line_.data() + line_.size(), out, 16);
  if (stop == begin || error != std::errc{}) return false;
  at_ += static_cast<std::size_t>(stop - begin);
  return true;
}

}  // namespace ib::fabric
