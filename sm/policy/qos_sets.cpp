// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/qos_sets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace sm::policy {
namespace {

constexpr unsigned kVlDrop = 15, kUnlimited = 255, kPacketUnits = 64;

void overlay(const QosSet& set, VlSettings& on) {
  if (set.max_vls) on.vls = operable_vls(*set.max_vls);
  if (set.high_limit) on.high_limit = *set.high_limit;
  if (set.vlarb_high) on.high = *set.vlarb_high;
  if (set.vlarb_low) on.low = *set.vlarb_low;
  if (set.sl_to_vl.empty()) return;
  on.sl_to_vl.fill(0);  // for SLs behind a short list
  std::ranges::copy(set.sl_to_vl, on.sl_to_vl.begin());
}

bool has_weight(const VlArbitrationTemplate& table) {
  return std::ranges::any_of(table, [](const VlWeight& entry) { return entry.weight != 0; });
}

}  // namespace

namespace {

/// The sets that stand behind those of a kind, the general one first.
std::vector<std::size_t> sets_behind(std::size_t kind) {
  std::vector<std::size_t> out{static_cast<std::size_t>(QosKind::General)};
  if (kind == static_cast<std::size_t>(QosKind::SwitchToSwitch))
    out.push_back(static_cast<std::size_t>(QosKind::SwitchExternal));
  if (kind != out.front()) out.push_back(kind);
  return out;
}

/// VLs without weight that the mapping, as far as it was written, gives packets; where somebody
/// wrote tables of arbitration.
std::string left_out(const QosSets& sets, std::size_t kind) {
  const VlSettings holds = settings_for(sets, static_cast<QosKind>(kind));
  std::size_t written = 0;
  bool has_tables = false;
  for (const std::size_t set : sets_behind(kind)) {
    written = std::max(written, sets[set].sl_to_vl.size());
    has_tables = has_tables || sets[set].vlarb_high || sets[set].vlarb_low;
  }
  if (!has_tables) return {};
  std::vector<std::string> vls;
  for (unsigned vl = 0; vl < holds.vls; ++vl) {
    const auto has = [&](const VlArbitrationTemplate& table) {
      return std::ranges::any_of(
          table, [&](const VlWeight& entry) { return entry.vl == vl && entry.weight != 0; });
    };
    bool used = false;
    for (std::size_t sl = 0; sl < written; ++sl)
      used = used || (holds.sl_to_vl[sl] != kVlDrop && holds.sl_to_vl[sl] % holds.vls == vl);
    if (used && !has(holds.high) && !has(holds.low)) vls.push_back(std::to_string(vl));
  }
  return fmt::format("{}", fmt::join(vls, ", "));
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
    if (set.vlarb_high || set.vlarb_low || !set.sl_to_vl.empty())
      if (const std::string vls = left_out(sets, i); !vls.empty())
        lines.push_back(
            fmt::format("{}vlarb_high and {}vlarb_low have no weight for VL {}, which {}sl2vl "
                        "gives: packets there may never be sent",
                        prefix, prefix, vls, prefix));
    if (!set.sl_to_vl.empty() && set.sl_to_vl.size() < holds.sl_to_vl.size())
      lines.push_back(fmt::format("{}sl2vl ends at SL {}: SLs above it have VL 0", prefix,
                                  set.sl_to_vl.size() - 1));
    if (!set.sl_to_vl.empty() && set.sl_to_vl.front() == kVlDrop)
      lines.push_back(
          fmt::format("{}sl2vl maps SL 0 to VL 15: packets of SL 0, which paths have "
                      "where no policy says otherwise, are dropped",
                      prefix));
  }
  return lines;
}

std::vector<std::string> keys_without_effect(const QosSets& sets) {
  std::vector<std::string> keys;
  const auto between = settings_for(sets, QosKind::SwitchToSwitch).sl_to_vl;
  for (std::size_t i = 0; i < sets.size(); ++i)
    if (!sets[i].sl_to_vl.empty() &&
        settings_for(sets, static_cast<QosKind>(i)).sl_to_vl != between)
      keys.push_back(std::string(kQosPrefixes[i]) + "sl2vl");
  return keys;
}

std::vector<std::string> weight_hints(const QosSets& sets) {
  std::vector<std::string> lines;
  const auto check = [&](std::string_view prefix, std::string_view name,
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
    check(kQosPrefixes[i], "vlarb_high", sets[i].vlarb_high);
    check(kQosPrefixes[i], "vlarb_low", sets[i].vlarb_low);
  }
  return lines;
}

}  // namespace sm::policy
