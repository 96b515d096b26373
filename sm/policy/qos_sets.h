// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// QosSets: what an operator says of VLs by kind of port (the options qos_max_vls, qos_ca_sl2vl,
// ...), and what holds for one kind: its own set over the general one over what is built in.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sm/policy/vl_tables.h"

namespace sm::policy {

/// One set; what is not said is empty.
struct QosSet {
  std::optional<std::uint8_t> max_vls, high_limit;
  std::optional<VlArbitrationTemplate> vlarb_high, vlarb_low;
  std::vector<std::uint8_t> sl_to_vl;  // VLs of SL 0 on; SLs behind a short list have VL 0
  friend bool operator==(const QosSet&, const QosSet&) = default;
};

/// What a set is of, in the order of QosSets.
enum class QosKind : std::uint8_t {
  General,
  Ca,
  Router,
  SwitchPort0,
  SwitchExternal,
  SwitchToSwitch  // external, with another switch behind it
};
inline constexpr std::array<std::string_view, 6> kQosPrefixes{"qos_",     "qos_ca_",  "qos_rtr_",
                                                              "qos_sw0_", "qos_swe_", "qos_sw2sw_"};
using QosSets = std::array<QosSet, kQosPrefixes.size()>;  // by QosKind

/// What holds for one kind of port.
struct VlSettings {
  unsigned vls{15};  // data VLs in use at most: 1, 2, 4, 8 or 15
  std::uint8_t high_limit{0};
  VlArbitrationTemplate high{default_vl_arbitration_high()}, low{default_vl_arbitration_low()};
  SlToVlTemplate sl_to_vl{kDefaultSlToVl};
};
/// A link between switches falls back to qos_swe_, then as all do to qos_ and what is built in.
VlSettings settings_for(const QosSets& sets, QosKind kind);

using VlSettingsByKind = std::array<VlSettings, kQosPrefixes.size()>;  // by QosKind
VlSettingsByKind all_settings(const QosSets& sets);

/// The number of data VLs that a port can operate which is nearest to `vls` and not above.
unsigned operable_vls(unsigned vls);

/// What of the sets works otherwise than its author may think, a line each: VLs that a port cannot
/// operate exactly, low priority tables that may starve, SL 0 dropped, VLs that a mapping names and
/// tables of arbitration leave out.
std::vector<std::string> qos_warnings(const QosSets& sets);
/// Keys of mappings other than that of links between switches that say something else than it: of
/// routes on several VLs they are not asked.
std::vector<std::string> keys_without_effect(const QosSets& sets);
/// Weights that are no multiple of 64, which is what a packet of 4096 bytes takes: a line a list.
std::vector<std::string> weight_hints(const QosSets& sets);

}  // namespace sm::policy
