// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/config/value.h"

#include <fmt/format.h>

#include <algorithm>

#include "libdiag/base/ids.h"
#include "libdiag/base/text.h"
#include "libdiag/cli/command_line.h"

namespace sm::config {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

template <class T>
void put(const Row& row, Settings& to, const T& value) {
  if (const auto* field = std::get_if<T Settings::*>(&row.field)) to.*(*field) = value;
}

/// "both, in, out or off".
std::string list_of(std::string_view words) {
  const auto all = ib::split(words, '|');
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i)
    out += std::string(i == 0 ? "" : i + 1 == all.size() ? " or " : ", ") + std::string(all[i]);
  return out;
}

ib::Result<void> read_number(const Row& row, std::string_view text, Settings& to) {
  const ib::cli::Range range{row.min, row.max, std::string(row.what)};
  return range.read(std::string(text)).map([&](std::uint64_t value) {
    put(row, to, value);
    put(row, to, std::optional(value));
  });
}

std::string number_text(const Row& row, std::uint64_t value) {
  if (!row.hexadecimal) return std::to_string(value);
  return row.max <= 0xFF ? fmt::format("0x{:02x}", value) : fmt::format("0x{:016x}", value);
}

}  // namespace

ib::Result<std::vector<ib::Guid>> read_guids(std::string_view text) {
  std::vector<ib::Guid> guids;
  if (ib::trim(text).empty() || text == "null" || text == kNothing) return guids;
  for (const std::string_view piece : ib::split(text, ',')) {
    ib::Guid guid;
    if (!ib::parse_guid(ib::trim(piece), guid))
      return ib::fail(
          ib::ErrorKind::Usage,
          "expected port GUIDs like 0x0002c90300a1b2c3 with commas between them, got '" +
              ib::printable(piece) + "'");
    guids.push_back(guid);
  }
  return guids;
}

ib::Result<bool> read_truth(std::string_view text, bool& odd) {
  const std::string word = lower(text);
  odd = false;
  if (word == "true" || word == "false") return word == "true";
  odd = true;
  if (word == "yes" || word == "on" || word == "1") return true;
  if (word == "no" || word == "off" || word == "0") return false;
  return ib::fail(ib::ErrorKind::Usage,
                  "expected TRUE or FALSE, got '" + ib::printable(text) + "'");
}

ib::Result<void> read_value(const Row& row, std::string_view text, Settings& to) {
  bool odd = false;
  switch (row.kind) {
    case Kind::Flag:
    case Kind::Unflag:
    case Kind::Truth:
      return read_truth(text, odd).map([&](bool value) { put(row, to, value); });
    case Kind::Number:
      return read_number(row, text, to);
    case Kind::Word: {
      const auto words = ib::split(row.words, '|');
      if (std::ranges::find(words, text) == words.end())
        return ib::fail(ib::ErrorKind::Usage,
                        "expected " + list_of(row.words) + ", got '" + ib::printable(text) + "'");
      break;
    }
    case Kind::Text:
      if (row.check != nullptr)
        if (auto good = row.check(text); !good) return good;
      break;
    case Kind::Action:
      break;
  }
  put(row, to, std::string(text));
  return {};
}

std::string value_text(const Row& row, const Settings& settings) {
  struct Visitor {
    const Row& row;
    const Settings& settings;
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(bool Settings::*field) const {
      return settings.*field ? "TRUE" : "FALSE";
    }
    std::string operator()(std::uint64_t Settings::*field) const {
      return number_text(row, settings.*field);
    }
    std::string operator()(std::optional<std::uint64_t> Settings::*field) const {
      const auto& value = settings.*field;
      return value ? number_text(row, *value) : std::string(kNothing);
    }
    std::string operator()(std::string Settings::*field) const {
      const std::string& text = settings.*field;
      return text.empty() ? std::string(kNothing) : text;
    }
  };
  return std::visit(Visitor{row, settings}, row.field);
}

bool same_value(const Row& row, std::string_view a, std::string_view b) {
  if (a == b) return true;
  if (row.kind == Kind::Number) {
    std::uint64_t first = 0, second = 0;
    return ib::parse_number(a, UINT64_MAX, first) && ib::parse_number(b, UINT64_MAX, second) &&
           first == second;
  }
  bool odd = false;
  if (row.kind != Kind::Flag && row.kind != Kind::Unflag && row.kind != Kind::Truth) return false;
  const auto first = read_truth(a, odd), second = read_truth(b, odd);
  return first && second && *first == *second;
}

void copy_value(const Row& row, const Settings& from, Settings& to) {
  std::visit(
      [&](auto field) {
        if constexpr (!std::is_same_v<decltype(field), std::monostate>) to.*field = from.*field;
      },
      row.field);
}

}  // namespace sm::config
