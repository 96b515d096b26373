// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Lines: text that arrives in parts, cut where a line ends.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sm::control {

class Lines {
 public:
  /// `most` bytes of a line without its end.
  explicit Lines(std::size_t most) : most_(most) {}

  void add(std::string_view piece) { said_ += piece; }
  /// The next whole line, without its end.
  std::optional<std::string> next();
  /// The line that has begun is longer than may be, and will never be given out.
  bool too_long() const { return said_.size() - begin_ > most_; }

 private:
  std::size_t most_;
  std::size_t begin_{0};  // of the line that is next, in `said_`
  std::string said_;
};

}  // namespace sm::control
