// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/topology_oddities.h"

#include <algorithm>

#include "libdiag/base/text.h"

namespace ib::fabric {
namespace {

/// Behind these comes whatever belongs to them.
constexpr std::string_view kKeys[] = {
    "vendid=", "devid=", "sysimgguid=", "switchguid=", "caguid=", "rtguid="};
/// Behind these comes a blank, or the number that a lost blank stood before.
constexpr std::string_view kWords[] = {"Switch", "Hca", "Rt", "Router", "Ca", "Chassis"};
constexpr std::string_view kNonChassis = "Non-Chassis Nodes";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string lines(std::size_t count) {
  return count == 1 ? "1 line" : std::to_string(count) + " lines";
}

}  // namespace

void TopologyOddities::met(Kind kind, std::size_t line, std::size_t column, std::string_view text) {
  Met& met = met_[static_cast<std::size_t>(kind)];
  if (met.lines++ == 0) met = {1, line, column, text};
}

std::vector<TopologyOddities::Warning> TopologyOddities::warnings() const {
  std::vector<Warning> all;
  const auto add = [&](Kind kind, auto&& say) {
    const Met& met = of(kind);
    if (met.lines > 0) all.push_back({met.line, met.column, say(met)});
  };
  add(Kind::CarriageReturns, [](const Met& met) {
    return "carriage returns at the end of " + lines(met.lines) + " are ignored";
  });
  add(Kind::WhiteSpace, [](const Met& met) {
    return lines(met.lines) + " of white space " + (met.lines == 1 ? "is" : "are") + " ignored";
  });
  add(Kind::Header, [](const Met& met) {
    return lines(met.lines) + " before the first record " + (met.lines == 1 ? "is" : "are") +
           " ignored: '" + printable(met.text.substr(0, 40)) + "'" +
           (met.lines == 1 ? "" : " and so on");
  });
  add(Kind::LostBlank, [](const Met& met) {
    return "no blank behind '" + printable(met.text) + "' in " + lines(met.lines) +
           "; read as if there were one";
  });
  std::ranges::stable_sort(all, {}, &Warning::line);
  return all;
}

bool begins_a_record(std::string_view line) {
  if (line.size() > 1 && line[0] == '[') {
    const std::size_t end = line.find_first_not_of("0123456789", 1);
    return end != 1 && end != std::string_view::npos && line[end] == ']';
  }
  if (std::ranges::any_of(kKeys, [&](std::string_view key) { return line.starts_with(key); }))
    return true;
  if (line.starts_with(kNonChassis)) return true;
  return std::ranges::any_of(kWords, [&](std::string_view word) {
    if (!line.starts_with(word)) return false;
    const char next = line.size() > word.size() ? line[word.size()] : ' ';
    return next == ' ' || next == '\t' || is_digit(next);
  });
}

bool may_begin_a_record(std::string_view line) {
  if (begins_a_record(line)) return true;
  if (line.starts_with('['))
    return line.find_first_not_of("0123456789", 1) == std::string_view::npos;
  const auto is_cut = [&](std::string_view whole) { return whole.starts_with(line); };
  return std::ranges::any_of(kKeys, is_cut) || std::ranges::any_of(kWords, is_cut) ||
         is_cut(kNonChassis);
}

}  // namespace ib::fabric
