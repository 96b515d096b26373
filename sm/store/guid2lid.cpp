// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/guid2lid.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "libdiag/base/text.h"

namespace sm::store {
namespace {

/// The next hexadecimal number of `line`, which it leaves behind it.
std::optional<std::uint64_t> take_number(std::string_view& line) {
  line = ib::trim(line);
  if (!line.starts_with("0x")) return std::nullopt;
  line.remove_prefix(2);
  std::uint64_t value{};
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, 16);
  if (error != std::errc{}) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (!line.empty() && line[0] != ' ' && line[0] != '\t') return std::nullopt;
  return value;
}

std::optional<LidClaim> read_line(std::string_view line) {
  const auto guid = take_number(line), first = take_number(line), last = take_number(line);
  if (!guid || !first || !last || !ib::trim(line).empty() || *guid == 0) return std::nullopt;
  if (*first == 0 || *last < *first || *last > 0xBFFF) return std::nullopt;
  const std::uint64_t count = *last - *first + 1;
  if (!std::has_single_bit(count) || count > 128 || *first % count != 0) return std::nullopt;
  return LidClaim{ib::Guid{*guid}, ib::Lid{static_cast<std::uint16_t>(*first)},
                  static_cast<std::uint8_t>(std::countr_zero(count))};
}

}  // namespace

std::string write_guid2lid(std::span<const LidClaim> lids) {
  std::string text;
  for (const LidClaim& c : lids)
    fmt::format_to(std::back_inserter(text), "0x{:016x} 0x{:04x} 0x{:04x}\n\n", c.port_guid.value,
                   c.lid.value, c.lid.value + (1U << c.lmc) - 1);
  return text;
}

ReadGuid2Lid read_guid2lid(std::string_view text) {
  ReadGuid2Lid read;
  std::map<ib::Guid, LidClaim> by_guid;
  for (const std::string_view line : ib::split(text, '\n')) {
    const std::string_view trimmed = ib::trim(line);
    if (trimmed.empty() || trimmed[0] == '#') continue;
    if (const auto claim = read_line(trimmed)) {
      by_guid[claim->port_guid] = *claim;
    } else {
      ++read.lines_not_read;
    }
  }
  for (const auto& [guid, claim] : by_guid) read.lids.push_back(claim);
  return read;
}

std::vector<LidClaim> lids_missing_from(std::span<const LidClaim> lids,
                                        std::span<const LidClaim> backup) {
  std::set<ib::Guid> known;
  std::set<unsigned> taken;
  const auto take = [&](const LidClaim& c) {
    for (unsigned i = 0; i < (1U << c.lmc); ++i) taken.insert(c.lid.value + i);
  };
  const auto is_taken = [&](const LidClaim& c) {
    const auto at = taken.lower_bound(c.lid.value);
    return at != taken.end() && *at < c.lid.value + (1U << c.lmc);
  };
  for (const LidClaim& c : lids) {
    known.insert(c.port_guid);
    take(c);
  }
  std::vector<LidClaim> missing;
  for (const LidClaim& c : backup) {
    if (known.contains(c.port_guid) || is_taken(c)) continue;
    missing.push_back(c);
    take(c);
  }
  return missing;
}

}  // namespace sm::store
