// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibpath explain A B`: what decided the values of a path. All of it comes from the SA: the path
// record, the way through the forwarding tables, the ports of every link on it. Fetching is one
// half (explain.cpp), judging a pure other half (verdict.cpp; unmet.cpp: why there is no path that
// meets a condition).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "libdiag/tables/vl_share.h"
#include "libdiag/wire/sa_records.h"
#include "tools/ibpath/command_context.h"
#include "tools/ibpath/paths.h"

namespace ibpath {

/// One end of a link.
struct LinkEnd {
  ib::Lid lid{};  // of the end port: a switch's port 0
  std::uint8_t port{};
  std::string name;
  ib::wire::PortInfo info{};
  std::optional<ib::wire::NodeType> type{};
  ib::Guid node_guid{}, port_guid{};
};

/// One link of the way, from the end packets leave by to the one they enter by.
struct WayLink {
  LinkEnd from, to;
  std::optional<std::uint8_t> vl;  // of the path's SL; none: the SA does not show SL2VL tables
  std::optional<ib::tables::VlShare> share;  // of that VL; none: nor tables of arbitration
};

struct Way {
  std::vector<WayLink> links;
  std::string broken;  // why it does not reach the destination; empty: it does
};

/// All that is known of a path.
struct PathFacts {
  ib::wire::PathRecord path;
  PathQuery asked;  // the conditions it meets; ends are not among them
  std::string source_name, destination_name;
  Way there, back;
  std::optional<ib::wire::PortInfo> source_port0, destination_port0;  // of ends that are switches
  /// The way there with the VLs of an SL that was asked for in vain.
  std::optional<Way> asked_sl_way;
  /// The return path as a path record of its own, by the same SL if there is one; none: the SA
  /// gives none.
  std::optional<ib::wire::PathRecord> back_path;
  /// P_Keys of the end ports; none: the SA does not show them.
  std::optional<std::vector<ib::PKey>> source_keys, destination_keys;
  /// The IPoIB broadcast group of the path's partition, where there is one.
  std::optional<ib::wire::McMemberRecord> broadcast_group;
};

/// What decided one value.
struct Reason {
  std::string subject;              // "MTU", "rate", "SL", "P_Key", "packet life", "reversible"
  std::string value;                // "2048"
  std::string reason;               // a sentence
  std::optional<std::size_t> link;  // the link that decides, from 1
  bool wrong{false};                // the record promises what the way cannot keep
};
/// What is to be said of the route, then what decided MTU, rate, SL, P_Key, packet life and
/// reversible; pure.
std::vector<Reason> judge(const PathFacts& facts);

struct Explanation {
  PathFacts facts;
  std::vector<Reason> reasons;
};

/// Why no path meets some conditions: what decides the path there is without them.
struct Unmet {
  Explanation without;
  std::vector<Reason> conditions;  // subject: the condition; value: what there is instead
};
/// One condition that no path meets by itself; `asked` is that condition.
Reason unmet(const std::string& condition, const PathQuery& asked, const PathFacts& without);

/// What `ibpath explain` prints, of one path, of no path, and of both as a document.
std::string explain_text(const PathFacts& facts, const std::vector<Reason>& reasons);
std::string unmet_text(const Unmet& unmet);
std::string explain_json(const std::vector<Explanation>& explained,
                         const std::optional<Unmet>& unmet, const std::string& version);

/// Reads SRC, DST and conditions. Usage: they cannot be read; nothing was sent then.
ib::Result<Job> plan_explain(const Options& options, Words words);

}  // namespace ibpath
