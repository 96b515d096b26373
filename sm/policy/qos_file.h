// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// QosFile: what a QoS policy file says, as values: port groups, QoS levels, match rules, and the
// rules of its simple section (qos-ulps). The grammar is opensm's (doc/QoS_management_in_OpenSM)
// with the extensions of doc/qos.md. Ports are not looked up here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/diagnostic.h"
#include "libdiag/base/ids.h"
#include "libdiag/fabric/port_groups.h"
#include "sm/policy/interval.h"

namespace sm::policy {

/// A port by the NodeDescription of its node and its number.
struct NamedPort {
  std::string node;
  std::uint8_t port{};
  friend bool operator==(const NamedPort&, const NamedPort&) = default;
};

/// Ports are in a group when any of its lines names them; or by the rules of its name, where it is
/// of a file with such (port_group_file.h).
struct PortGroup {
  std::string name, use;
  Intervals<std::uint64_t> guids;
  std::vector<NamedPort> ports;
  std::vector<std::string> partitions;  // members of the partitions with these names
  Intervals<std::uint16_t> p_keys;      // ... with these P_Keys, without the membership bit
  bool cas{false}, switches{false}, routers{false}, self{false};
  ib::TextPlace place;
  std::shared_ptr<const ib::fabric::PortGroups> rules{};
};

/// Bounds of the paths that get the level. Codes as in PathRecord (IBA 15.2.5.16).
struct QosLevelLines {
  std::string name, use;
  std::optional<std::uint8_t> sl, mtu_limit, rate_limit, packet_life;
  Intervals<std::uint16_t> p_keys;
  Intervals<std::uint32_t> path_bits;  // read and checked; without effect
  ib::TextPlace place;
};

/// Matches a request when every criterion that it has does.
struct QosMatchRule {
  std::string use;
  Intervals<std::uint16_t> qos_classes;  // 0 to 4095
  Intervals<std::uint64_t> service_ids;
  Intervals<std::uint16_t> p_keys;
  std::vector<std::string> sources, destinations;  // names of port groups
  std::string level;
  ib::TextPlace place;
};

/// A line of qos-ulps, as criteria: an application is a range of service IDs, IPoIB a P_Key.
struct UlpRule {
  std::string text;  // as written, for explanations
  Intervals<std::uint64_t> service_ids;
  Intervals<std::uint16_t> p_keys;
  bool ipoib{false};  // matches the multicast GIDs of the partitions, too
  std::optional<Intervals<std::uint64_t>> sources, targets;  // port GUIDs
  bool both_ends{false};  // source-target-port-guid: `sources` and `targets` must both match
  std::uint8_t sl{};
  ib::TextPlace place;
};

struct QosFile {
  std::vector<PortGroup> groups;
  std::vector<QosLevelLines> levels;
  std::vector<QosMatchRule> rules;         // the first that matches
  std::vector<UlpRule> ulps;               // the first that matches, when no rule does
  std::optional<std::uint8_t> default_sl;  // "default : SL"
  std::vector<ib::Diagnostic> diagnostics;

  /// Names are compared whatever their case. nullptr: there is none.
  const PortGroup* find_group(std::string_view name) const;
  const QosLevelLines* find_level(std::string_view name) const;
};

/// The name of the level for requests that no rule matches.
inline constexpr std::string_view kDefaultLevel = "DEFAULT";

/// Reads and checks the whole of `text`. With an error among the diagnostics the rest is not to be
/// used. Warnings name what hides, starves or has no effect.
QosFile read_qos_file(std::string_view text, const std::string& file);

}  // namespace sm::policy
