// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/error_thresholds.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "libdiag/base/diagnostic.h"
#include "libdiag/base/ids.h"
#include "libdiag/base/text.h"

namespace sm::policy {
namespace {

// The thresholds are those that infiniband-diags suggests for ibqueryerrors
// (/etc/infiniband-diags/error_thresholds), but for waits: their ticks are the device's own, and a
// full link waits.
constexpr std::array<ErrorCounter, kErrorCounters> kCounters = {{
    {"SymbolErrorCounter", "integrity", 10},
    {"LinkErrorRecoveryCounter", "integrity", 10},
    {"LinkDownedCounter", "integrity", 10},
    {"PortRcvErrors", "integrity", 10},
    {"PortRcvRemotePhysicalErrors", "remote", 100},
    {"PortRcvSwitchRelayErrors", "routing", 100},
    {"PortXmitDiscards", "congestion", 100},
    {"PortXmitConstraintErrors", "security", 100},
    {"PortRcvConstraintErrors", "security", 100},
    {"LocalLinkIntegrityErrors", "integrity", 10},
    {"ExcessiveBufferOverrunErrors", "integrity", 10},
    {"VL15Dropped", "management", 100},
    {"PortXmitWait", "congestion", std::nullopt},
    {"QP1Dropped", "management", 100},
}};

tl::unexpected<ib::Error> bad(std::string what) {
  return ib::fail(ib::ErrorKind::Usage, std::move(what));
}

ib::Result<std::size_t> find_counter(std::string_view name) {
  const auto* const at = std::ranges::find(kCounters, name, &ErrorCounter::name);
  if (at != kCounters.end()) return static_cast<std::size_t>(at - kCounters.begin());
  std::vector<std::string_view> names;
  for (const ErrorCounter& counter : kCounters) names.push_back(counter.name);
  const auto near = ib::nearest_word(name, names);
  return bad(fmt::format("expected the name of an error counter, got '{}'{}", ib::printable(name),
                         near.empty() ? "; the first is SymbolErrorCounter"
                                      : fmt::format("; did you mean '{}'?", near)));
}

}  // namespace

std::span<const ErrorCounter, kErrorCounters> error_counters() { return kCounters; }

ErrorThresholds default_error_thresholds() {
  ErrorThresholds thresholds;
  std::ranges::transform(kCounters, thresholds.begin(), &ErrorCounter::threshold);
  return thresholds;
}

ib::Result<ErrorThresholds> read_error_thresholds(std::string_view text) {
  ErrorThresholds thresholds = default_error_thresholds();
  std::array<bool, kErrorCounters> said{};
  for (std::string_view entry : ib::split(text, ',')) {
    entry = ib::trim(entry);
    if (entry.empty()) continue;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos)
      return bad(fmt::format("expected NAME=N or NAME=off, got '{}'", ib::printable(entry)));
    const std::string_view name = ib::trim(entry.substr(0, equals));
    const std::string_view value = ib::trim(entry.substr(equals + 1));
    const auto at = find_counter(name);
    if (!at) return tl::unexpected<ib::Error>(at.error());
    if (std::exchange(said[*at], true)) return bad(fmt::format("duplicate {}", name));
    std::uint64_t most = 0;
    if (value == "off") {
      thresholds[*at].reset();
    } else if (ib::parse_number(value, UINT64_MAX, most)) {
      thresholds[*at] = most;
    } else {
      return bad(
          fmt::format("expected a number or 'off' for {}, got '{}'", name, ib::printable(value)));
    }
  }
  return thresholds;
}

}  // namespace sm::policy
