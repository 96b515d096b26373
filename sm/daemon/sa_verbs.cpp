// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/sa_verbs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "libdiag/base/text.h"
#include "libdiag/report/json.h"
#include "sm/daemon/failure_documents.h"

namespace sm::daemon {
namespace {

/// A limit by the name of its option.
struct Limit {
  std::string_view name;
  std::uint32_t sa::Limits::*value;  // nullptr: the receive threshold
  std::uint32_t min, max;

  std::uint32_t of(const SaState& state) const {
    return value != nullptr ? state.limits.*value : state.rx_threshold;
  }
};
constexpr Limit kLimits[] = {
    {"max_outstanding", &sa::Limits::max_outstanding, 1, 1U << 20},
    {"queue_size", &sa::Limits::queue_size, 16, 1U << 20},
    {"time_sa_mad", &sa::Limits::time_sa_mad, 1, 10'000},
    {"rx_threshold", nullptr, 64, 1U << 20},
};

ib::Result<void> take(const std::string& word, const SaState& present, SaChange& change) {
  const auto equals = word.find('=');
  const std::string_view name = std::string_view(word).substr(0, equals);
  const auto limit = std::ranges::find(kLimits, name, &Limit::name);
  if (equals == std::string::npos || limit == std::end(kLimits))
    return ib::fail(ib::ErrorKind::Usage,
                    fmt::format("sa set '{}': expected max_outstanding, queue_size, time_sa_mad or "
                                "rx_threshold, and =VALUE",
                                ib::printable(word)));
  std::uint64_t value = 0;
  if (!ib::parse_number(word.substr(equals + 1), limit->max, value) || value < limit->min)
    return ib::fail(ib::ErrorKind::Usage,
                    fmt::format("sa set {}: expected a number from {} to {}, got '{}'", name,
                                limit->min, limit->max, ib::printable(word.substr(equals + 1))));
  if (limit->value == nullptr) {
    change.rx_threshold = static_cast<std::uint32_t>(value);
    return {};
  }
  if (!change.limits) change.limits = present.limits;
  (*change.limits).*limit->value = static_cast<std::uint32_t>(value);
  return {};
}

std::string in_json(const SaState& state, const std::string& version) {
  ib::report::JsonWriter json;
  begin_document(json, {kSaSchema, "ibsm", version, true, {}});
  json.key("limits").begin_object();
  for (const Limit& limit : kLimits) json.field(limit.name, limit.of(state));
  json.end_object().key("counters").begin_object();
  for (const auto& [name, value] : sa::named_counters()) json.field(name, state.counters.*value);
  json.field("dropped_at_port", state.dropped_at_port).end_object().end_object();
  return json.take();
}

}  // namespace

ib::Result<SaChange> sa_change(const control::Request& request, const SaState& present) {
  const auto& words = request.words;
  SaChange change;
  if (words.empty()) return change;
  if (words[0] == "reset" && words.size() == 1) {
    change.reset_counters = true;
    return change;
  }
  if (words[0] != "set" || words.size() == 1)
    return ib::fail(ib::ErrorKind::Usage, "expected sa, sa set NAME=VALUE... or sa reset");
  for (std::size_t i = 1; i < words.size(); ++i)
    if (auto taken = take(words[i], present, change); !taken)
      return tl::unexpected<ib::Error>(std::move(taken.error()));
  return change;
}

control::Answer sa_answer(const control::Request& request, const SaState& state,
                          const std::string& version) {
  if (request.has("json")) return {0, in_json(state, version)};
  std::string text;
  for (const Limit& limit : kLimits) text += fmt::format("{} {}\n", limit.name, limit.of(state));
  for (const auto& [name, value] : sa::named_counters())
    if (state.counters.*value != 0) text += fmt::format("{} {}\n", name, state.counters.*value);
  if (state.dropped_at_port != 0)
    text += fmt::format("dropped_at_port {}\n", state.dropped_at_port);
  return {0, text};
}

}  // namespace sm::daemon
