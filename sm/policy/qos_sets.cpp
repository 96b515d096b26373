// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/qos_sets.h"

#include <fmt/format.h>

#include <algorithm>

namespace sm::policy {
namespace {

constexpr unsigned kVlDrop = 15, kUnlimited = 255, kPacketUnits = 64;

void overlay(const QosSet& set, VlSettings& on) {
  if (set.max_vls) on.vls = operable_vls(*set.max_vls);
  if (set.high_limit) on.high_limit = *set.high_limit;
  if (set.vlarb_high) on.high = *set.vlarb_high;
  if (set.vlarb_low) on.low = *set.vlarb_low;
  std::ranges::copy(set.sl_to_vl, on.sl_to_vl.begin());
}

bool has_weight(const VlArbitrationTemplate& table) {
  return std::ranges::any_of(table, [](const VlWeight& entry) { return entry.weight != 0; });
}

}  // namespace

unsigned operable_vls(unsigned vls) {
  return vls >= 15 ? 15 : vls >= 8 ? 8 : vls >= 4 ? 4 : vls >= 2 ? 2 : 1;
}

VlSettings settings_for(const QosSets& sets, QosKind kind) {
  VlSettings out;
  overlay(sets[static_cast<std::size_t>(QosKind::General)], out);
  if (kind == QosKind::SwitchToSwitch)
    overlay(sets[static_cast<std::size_t>(QosKind::SwitchExternal)], out);
  overlay(sets[static_cast<std::size_t>(kind)], out);
  return out;
}

VlSettingsByKind all_settings(const QosSets& sets) {
  VlSettingsByKind out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = settings_for(sets, static_cast<QosKind>(i));
  return out;
}

std::vector<std::string> qos_warnings(const QosSets& sets) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const QosSet& set = sets[i];
    const std::string_view prefix = kQosPrefixes[i];
    if (set.max_vls && operable_vls(*set.max_vls) != *set.max_vls)
      lines.push_back(fmt::format("{}max_vls {}: ports operate 1, 2, 4, 8 or 15 VLs; {} are used",
                                  prefix, *set.max_vls, operable_vls(*set.max_vls)));
    const VlSettings holds = settings_for(sets, static_cast<QosKind>(i));
    if (set.high_limit == kUnlimited && has_weight(holds.high) && has_weight(holds.low))
      lines.push_back(
          fmt::format("{}high_limit 255 is no limit: while the high priority table has "
                      "packets, VLs of the low one may starve",
                      prefix));
    if (!set.sl_to_vl.empty() && set.sl_to_vl.front() == kVlDrop)
      lines.push_back(
          fmt::format("{}sl2vl maps SL 0 to VL 15: packets of SL 0, which paths have "
                      "where no policy says otherwise, are dropped",
                      prefix));
  }
  return lines;
}

std::vector<std::string> weight_hints(const QosSets& sets) {
  std::vector<std::string> lines;
  const auto look = [&](std::string_view prefix, std::string_view name,
                        const std::optional<VlArbitrationTemplate>& table) {
    if (!table) return;
    const auto odd = std::ranges::find_if(
        *table, [](const VlWeight& entry) { return entry.weight % kPacketUnits != 0; });
    if (odd != table->end())
      lines.push_back(
          fmt::format("{}{}: weight {} of VL {} is no multiple of 64, which is what a "
                      "packet of 4096 bytes takes",
                      prefix, name, odd->weight, odd->vl));
  };
  for (std::size_t i = 0; i < sets.size(); ++i) {
    look(kQosPrefixes[i], "vlarb_high", sets[i].vlarb_high);
    look(kQosPrefixes[i], "vlarb_low", sets[i].vlarb_low);
  }
  return lines;
}

}  // namespace sm::policy
