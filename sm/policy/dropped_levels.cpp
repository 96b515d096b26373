// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/dropped_levels.h"

#include <fmt/format.h>

#include <algorithm>

#include "libdiag/base/text.h"

namespace sm::policy {
namespace {

constexpr std::uint8_t kVlDrops = 15;
constexpr std::size_t kFirstKind = static_cast<std::size_t>(QosKind::Ca);
/// By QosKind; no port is of the first.
constexpr std::array<std::string_view, kQosPrefixes.size()> kKindNames{"",
                                                                       "CAs",
                                                                       "routers",
                                                                       "port 0 of switches",
                                                                       "ports of switches to hosts",
                                                                       "ports between switches"};

bool has(std::uint16_t sls, ib::Sl sl) { return (sls >> sl.value & 1) != 0; }

/// Empty: nowhere.
std::string places(const DroppedSls& dropped, ib::Sl sl) {
  std::string names;
  std::size_t count = 0;
  for (std::size_t kind = kFirstKind; kind < dropped.size(); ++kind) {
    if (!has(dropped[kind], sl)) continue;
    names += (names.empty() ? "" : ", ") + std::string(kKindNames[kind]);
    ++count;
  }
  return count == dropped.size() - kFirstKind ? "all ports" : names;
}

}  // namespace

DroppedSls dropped_sls(const VlSettingsByKind& settings) {
  DroppedSls dropped{};
  for (std::size_t kind = kFirstKind; kind < dropped.size(); ++kind)
    for (std::size_t sl = 0; sl < settings[kind].sl_to_vl.size(); ++sl)
      if (settings[kind].sl_to_vl[sl] == kVlDrops)
        dropped[kind] = static_cast<std::uint16_t>(dropped[kind] | 1U << sl);
  return dropped;
}

std::vector<DroppedLevel> dropped_levels(const QosPolicy* rules, const Partitions& partitions,
                                         const DroppedWhere& where) {
  std::vector<DroppedLevel> out;
  const auto add = [&](std::string rule, std::optional<ib::Sl> sl) {
    if (!sl) return;
    if (std::string places = where(*sl); !places.empty())
      out.push_back({std::move(rule), *sl, std::move(places)});
  };
  if (rules != nullptr)
    for (const QosGrant* grant : rules->grants()) add(grant->rule, grant->sl);
  for (const Partition& partition : partitions.all)
    add(fmt::format("partition '{}'", ib::printable(partition.name)), partition.sl);
  return out;
}

std::vector<DroppedLevel> dropped_levels(const QosPolicy* rules, const Partitions& partitions,
                                         const VlSettingsByKind& settings) {
  const DroppedSls dropped = dropped_sls(settings);
  return dropped_levels(rules, partitions, [&](ib::Sl sl) { return places(dropped, sl); });
}

std::string to_string(const DroppedLevel& level) {
  return fmt::format(
      "{}: SL {} is mapped to VL 15 at {}, so its packets are dropped and requests for its paths "
      "get no record",
      level.rule, level.sl.value, level.where);
}

}  // namespace sm::policy
