// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/guid2lid.h"

#include <fmt/format.h>

#include <bit>
#include <map>
#include <optional>
#include <set>

#include "libdiag/base/text.h"

namespace sm::store {
namespace {

/// One line's words, with the place of each for what is said of it.
class Words {
 public:
  Words(std::string_view line, std::size_t number) : line_(line), rest_(line), number_(number) {}

  std::string_view next() {
    rest_ = ib::trim(rest_);
    const std::string_view word = rest_.substr(0, rest_.find_first_of(" \t"));
    rest_.remove_prefix(word.size());
    return word;
  }
  tl::unexpected<ib::Error> wrong(std::string_view word, std::string_view expected) const {
    return ib::fail(ib::ErrorKind::Malformed,
                    fmt::format("{}:{}: expected {}, got '{}'", number_,
                                word.data() - line_.data() + 1, expected, ib::printable(word)));
  }

 private:
  std::string_view line_, rest_;
  std::size_t number_;
};

std::optional<std::uint64_t> hexadecimal(std::string_view word) {
  std::uint64_t value{};
  if (!word.starts_with("0x") || !ib::parse_number(word, UINT64_MAX, value)) return std::nullopt;
  return value;
}

constexpr unsigned kLidMax = 0xBFFF;

ib::Result<LidClaim> read_line(Words words) {
  const std::string_view guid_word = words.next();
  const auto guid = hexadecimal(guid_word);
  if (!guid || *guid == 0) return words.wrong(guid_word, "a port GUID (0x...)");
  const std::string_view first_word = words.next();
  const auto first = hexadecimal(first_word);
  if (!first || *first == 0 || *first > kLidMax)
    return words.wrong(first_word, "the first LID, 0x0001 to 0xbfff");
  const std::string_view last_word = words.next();
  const auto last = hexadecimal(last_word);
  if (!last || *last < *first || *last > kLidMax)
    return words.wrong(last_word, "the last LID, not below the first and up to 0xbfff");
  const std::uint64_t count = *last - *first + 1;
  if (!std::has_single_bit(count) || count > 128 || *first % count != 0)
    return words.wrong(last_word,
                       "the last of 1, 2, 4 ... 128 LIDs that begin at a multiple of their number");
  if (const std::string_view more = words.next(); !more.empty())
    return words.wrong(more, "the end of the line");
  return LidClaim{ib::Guid{*guid}, ib::Lid{static_cast<std::uint16_t>(*first)},
                  static_cast<std::uint8_t>(std::countr_zero(count))};
}

/// Of each line that says something, in order, until `take` has enough.
template <typename Take>
void each_line(std::string_view text, Take take) {
  std::size_t number = 0;
  for (const std::string_view line : ib::split(text, '\n')) {
    ++number;
    const std::string_view trimmed = ib::trim(line);
    if (trimmed.empty() || trimmed[0] == '#') continue;
    if (!take(Words(line, number))) return;
  }
}

}  // namespace

std::string write_guid2lid(std::span<const LidClaim> lids) {
  std::string text;
  for (const LidClaim& c : lids)
    fmt::format_to(std::back_inserter(text), "0x{:016x} 0x{:04x} 0x{:04x}\n\n", c.port_guid.value,
                   c.lid.value, c.lid.value + (1U << c.lmc) - 1);
  return text;
}

ib::Result<std::vector<LidClaim>> import_guid2lid(std::string_view text) {
  std::vector<LidClaim> lids;
  std::map<ib::Guid, LidClaim> by_guid;
  std::map<unsigned, ib::Guid> owners;
  std::optional<ib::Error> error;
  each_line(text, [&](Words words) {
    const auto claim = read_line(words);
    if (!claim) {
      error = claim.error();
      return false;
    }
    const std::string_view guid_word = words.next();
    const auto [known, is_new] = by_guid.try_emplace(claim->port_guid, *claim);
    if (!is_new && known->second != *claim) {
      error = words.wrong(guid_word, "a GUID that does not have other LIDs yet").value();
      return false;
    }
    for (unsigned i = 0; i < (1U << claim->lmc); ++i) {
      const auto [owner, is_free] = owners.try_emplace(claim->lid.value + i, claim->port_guid);
      if (is_free || owner->second == claim->port_guid) continue;
      error = words
                  .wrong(words.next(),
                         fmt::format("LIDs that 0x{:016x} does not have yet", owner->second.value))
                  .value();
      return false;
    }
    return true;
  });
  if (error) return tl::unexpected<ib::Error>(*std::move(error));
  for (const auto& [guid, claim] : by_guid) lids.push_back(claim);
  return lids;
}

ReadGuid2Lid salvage_guid2lid(std::string_view text) {
  ReadGuid2Lid read;
  std::map<ib::Guid, LidClaim> by_guid;
  each_line(text, [&](Words words) {
    if (const auto claim = read_line(words))
      by_guid[claim->port_guid] = *claim;
    else
      ++read.lines_not_read;
    return true;
  });
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
