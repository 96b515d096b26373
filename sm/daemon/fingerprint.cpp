// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/fingerprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <variant>

#include "libdiag/base/fnv.h"
#include "libdiag/base/text.h"
#include "sm/config/table.h"
#include "sm/config/value.h"
#include "sm/daemon/operator_file.h"

namespace sm::daemon {
namespace {

constexpr std::string_view kVersion = "ibkit-manager=1";
constexpr std::string_view kAnyVersion = "ibkit-manager=";
constexpr std::size_t kNamesMost = 1000;  // of one notice

std::uint64_t sum_of(std::string_view text) {
  ib::Fnv1a sum;
  for (const char c : text) sum.add(static_cast<std::uint8_t>(c));
  return sum.value();
}

/// As we write them ourselves; what goes to the log is printable.
bool is_word(std::string_view text) {
  constexpr std::size_t kMost = 64;
  return !text.empty() && text.size() <= kMost &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

bool take_number(std::string_view text, int base, std::uint64_t& value) {
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value, base);
  return read.ec == std::errc{} && read.ptr == end;
}

bool read_head(std::string_view line, Notice& to) {
  for (const std::string_view word : ib::split(line, ' ')) {
    const std::size_t at = word.find('=');
    if (at == std::string_view::npos) return false;
    const std::string_view name = word.substr(0, at), value = word.substr(at + 1);
    std::uint64_t number = 0;
    if (name == "host") {
      if (!is_word(value)) return false;
      to.host = value;
    } else if (name == "state") {
      if (!take_number(value, 10, number) || number > 3) return false;
      to.state = static_cast<ib::wire::SmState>(number);
    } else if (name == "turn" && !take_number(value, 10, to.turn)) {
      return false;
    } else if (name == "behind") {
      to.behind = value == "1";
    }
  }
  return !to.host.empty();
}

}  // namespace

Fingerprint fingerprint_of(const config::Configuration& configuration,
                           std::span<const GoodFile> files) {
  Fingerprint all;
  std::set<std::string_view> known;  // paths
  for (const GoodFile& file : files) {
    all[name_of(*file.kind)] = sum_of(file.text);
    known.insert(file.path);
  }
  for (const config::Row& row : config::table()) {
    if (row.key().empty() || row.effect != config::Effect::Works || config::is_of_host(row))
      continue;
    const bool is_kept_apart = std::holds_alternative<std::monostate>(row.field);
    const std::string value = is_kept_apart ? configuration.origin(row).value
                                            : config::value_text(row, configuration.settings);
    if (row.value_name != "FILE") {
      // Of a key that is secret no more is shown than what tells two apart.
      constexpr std::uint64_t kOfSecret = 0xFFFF;
      all[std::string(row.key())] =
          sum_of(value) & (row.key().ends_with("key") ? kOfSecret : ~std::uint64_t{0});
    } else if (!known.contains(value)) {
      // Where it lies is the host's affair, what it says is not.
      const auto text = value == config::kNothing || value.empty()
                            ? ib::Result<std::string>(std::string())
                            : read_operator_file(value);
      all[std::string(row.key())] = text ? sum_of(*text) : 0;
    }
  }
  return all;
}

std::vector<std::string> differences(const Fingerprint& a, const Fingerprint& b) {
  std::set<std::string> names;
  for (const auto* from : {&a, &b})
    for (const auto& [name, sum] : *from) {
      const auto one = a.find(name), other = b.find(name);
      if (one == a.end() || other == b.end() || one->second != other->second) names.insert(name);
    }
  return {names.begin(), names.end()};
}

std::string text_of(const Notice& notice) {
  std::string text = fmt::format("{} host={} state={} turn={}{}\n", kVersion, notice.host,
                                 static_cast<unsigned>(notice.state), notice.turn,
                                 notice.behind ? " behind=1" : "");
  for (const auto& [name, sum] : notice.fingerprint) text += fmt::format("{} {:016x}\n", name, sum);
  return text;
}

ib::Result<Notice> read_notice(std::string_view text) {
  const auto damaged = [] {
    return ib::fail(ib::ErrorKind::Malformed,
                    "what another subnet manager says of itself is damaged");
  };
  if (text.starts_with(kAnyVersion) && !text.starts_with(kVersion))
    return ib::fail(ib::ErrorKind::Unavailable,
                    "another subnet manager is of a newer release: its configuration cannot be "
                    "compared");
  if (!text.starts_with(kVersion)) return damaged();
  Notice notice;
  std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !read_head(text.substr(0, end), notice)) return damaged();
  for (text.remove_prefix(end + 1); !text.empty(); text.remove_prefix(end + 1)) {
    end = text.find('\n');
    if (end == std::string_view::npos || notice.fingerprint.size() >= kNamesMost) return damaged();
    const std::string_view line = text.substr(0, end);
    const std::size_t blank = line.find(' ');
    std::uint64_t sum = 0;
    if (blank == std::string_view::npos || !is_word(line.substr(0, blank)) ||
        !take_number(line.substr(blank + 1), 16, sum))
      return damaged();
    notice.fingerprint[std::string(line.substr(0, blank))] = sum;
  }
  return notice;
}

}  // namespace sm::daemon
