// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What topology files have that ibnetdiscover did not print: editors, terminals and mail put it
// there. It is ignored, and told of in one line a kind. Private to the topology reader.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ib::fabric {

class TopologyOddities {
 public:
  enum class Kind : std::uint8_t {
    CarriageReturns,  // at the ends of lines
    WhiteSpace,       // lines of nothing else
    Header,           // lines before the first record: a prompt, `Script started on ...`
    LostBlank,        // `Switch41`
  };

  void met(Kind kind, std::size_t line, std::size_t column, std::string_view text);
  /// Lines of `Header` so far.
  std::size_t header_lines() const { return of(Kind::Header).lines; }

  struct Warning {
    std::size_t line, column;  // of the first one
    std::string text;
  };
  std::vector<Warning> warnings() const;

 private:
  struct Met {
    std::size_t lines{0}, line{0}, column{0};
    std::string_view text;
  };
  const Met& of(Kind kind) const { return met_[static_cast<std::size_t>(kind)]; }
  std::array<Met, 4> met_;
};

/// Whether `line`, without leading blanks, begins like a line of a topology file.
bool begins_a_record(std::string_view line);
/// Whether `line` is, or may be the beginning of, such a line.
bool may_begin_a_record(std::string_view line);

}  // namespace ib::fabric
