// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/group_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "libdiag/base/text.h"
#include "libdiag/wire/rates.h"
#include "sm/policy/words.h"

namespace sm::policy {
namespace {

constexpr unsigned kRateFirst = 2, kRateLast = 24, kMtuLast = 5;

std::string quoted(std::string_view value) {
  return "'" + ib::printable(value.substr(0, 40)) + "'";
}

/// A number in the range, or what is wrong.
template <class T>
std::string read_number(std::string_view value, std::uint64_t min, std::uint64_t max, T& out) {
  std::uint64_t number = 0;
  if (!ib::parse_number(value, max, number) || number < min)
    return fmt::format("expected a number from {} to {}, got {}", min, max, quoted(value));
  out = static_cast<T>(number);
  return {};
}

/// "100G" of the rates there are; NaN: it is none.
double gigabits(std::string_view value) {
  const bool has_unit = !value.empty() && (value.back() == 'G' || value.back() == 'g');
  double number = 0;
  const char* end = value.data() + value.size() - (has_unit ? 1 : 0);
  const auto [rest, error] = std::from_chars(value.data(), end, number);
  return has_unit && error == std::errc{} && rest == end ? number : std::nan("");
}

/// The code of the rate called `gbps`; 0: there is none.
std::uint8_t code_of_rate(double gbps) {
  for (unsigned code = kRateFirst; code <= kRateLast; ++code) {
    const double rate = ib::wire::rate_gbps(static_cast<std::uint8_t>(code));
    if (rate == gbps || std::floor(rate) == gbps) return static_cast<std::uint8_t>(code);
  }
  return 0;
}

std::string set_rate(std::string_view value, std::optional<std::uint8_t>& rate) {
  if (const double gbps = gigabits(value); !std::isnan(gbps)) {
    const auto code = code_of_rate(gbps);
    if (code == 0) return fmt::format("there is no rate of {}", quoted(value));
    rate = code;
    return {};
  }
  std::uint64_t number = 0;
  const bool is_number = ib::parse_number(value, 1'000'000, number);
  if (is_number && number >= kRateFirst && number <= kRateLast) {
    rate = static_cast<std::uint8_t>(number);
    return {};
  }
  std::string wrong = fmt::format("expected a rate code from {} to {}, or a rate like 100G, got {}",
                                  kRateFirst, kRateLast, quoted(value));
  if (is_number && code_of_rate(static_cast<double>(number)) != 0)
    wrong += fmt::format("; did you mean '{}G' (code {})?", number,
                         code_of_rate(static_cast<double>(number)));
  return wrong;
}

std::string set_mtu(std::string_view value, std::optional<std::uint8_t>& mtu) {
  std::uint64_t number = 0;
  if (ib::parse_number(value, 0xFFFF, number))
    for (unsigned code = 1; code <= kMtuLast; ++code)
      if (number == code || number == ib::wire::mtu_bytes(static_cast<std::uint8_t>(code))) {
        mtu = static_cast<std::uint8_t>(code);
        return {};
      }
  return fmt::format("expected an MTU code from 1 to {} or 256, 512, 1024, 2048 or 4096, got {}",
                     kMtuLast, quoted(value));
}

template <class T>
std::string set_number(std::string_view value, std::uint64_t max, std::optional<T>& field) {
  T number{};
  auto wrong = read_number(value, 0, max, number);
  if (wrong.empty()) field = number;
  return wrong;
}

std::string add_scope(std::string_view value, std::vector<std::uint8_t>& scopes) {
  std::uint8_t scope = 0;
  if (auto wrong = read_number(value, 1, 15, scope); !wrong.empty()) return wrong;
  if (std::ranges::find(scopes, scope) != scopes.end())
    return fmt::format("{}scope {}", kDuplicate, scope);
  scopes.push_back(scope);
  return {};
}

struct Row {
  std::string_view name;
  bool (*is_set)(const GroupFlags&);
  std::string (*set)(std::string_view value, GroupFlags&);
};
const Row kRows[] = {
    {"rate", [](const GroupFlags& f) { return f.rate.has_value(); },
     [](std::string_view v, GroupFlags& f) { return set_rate(v, f.rate); }},
    {"mtu", [](const GroupFlags& f) { return f.mtu.has_value(); },
     [](std::string_view v, GroupFlags& f) { return set_mtu(v, f.mtu); }},
    {"sl", [](const GroupFlags& f) { return f.sl.has_value(); },
     [](std::string_view v, GroupFlags& f) { return set_number(v, 15, f.sl); }},
    {"scope", [](const GroupFlags&) { return false; },  // several may be said
     [](std::string_view v, GroupFlags& f) { return add_scope(v, f.scopes); }},
    {"Q_Key", [](const GroupFlags& f) { return f.q_key.has_value(); },
     [](std::string_view v, GroupFlags& f) { return set_number(v, 0xFFFFFFFF, f.q_key); }},
    {"TClass", [](const GroupFlags& f) { return f.traffic_class.has_value(); },
     [](std::string_view v, GroupFlags& f) { return set_number(v, 0xFF, f.traffic_class); }},
    {"FlowLabel", [](const GroupFlags& f) { return f.flow_label.has_value(); },
     [](std::string_view v, GroupFlags& f) { return set_number(v, 0xFFFFF, f.flow_label); }},
};
constexpr std::array<std::string_view, 7> kNames = {"rate",  "mtu",    "sl",       "scope",
                                                    "Q_Key", "TClass", "FlowLabel"};
static_assert(std::size(kRows) == kNames.size());

const Row* find_row(std::string_view word) {
  const auto* row = std::ranges::find_if(
      kRows, [&](const Row& candidate) { return equal_words(candidate.name, word); });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

std::span<const std::string_view> group_flag_names() { return kNames; }
bool is_group_flag(std::string_view word) { return find_row(word) != nullptr; }

std::string set_group_flag(std::string_view flag, std::string_view value, GroupFlags& flags) {
  const Row* row = find_row(flag);
  if (row->is_set(flags)) return fmt::format("{}{}", kDuplicate, row->name);
  return row->set(value, flags);
}

}  // namespace sm::policy
