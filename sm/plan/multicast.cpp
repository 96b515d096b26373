// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/multicast.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "libdiag/tables/verify_changes.h"

namespace sm::plan {
namespace {

using ib::Guid;
using ib::Lid;
using ib::fabric::Fabric;

/// The first finding that fails a must, in words.
std::string first_must(const ib::tables::Verdict& verdict) {
  for (const auto& finding : verdict.findings)
    if (finding.must) return finding.message;
  return "checks that must hold fail";
}

/// Whether nothing but VLs that the engine makes its claim for carries the group.
bool on_claimed_vl(const Routing& routing, const MlidGroup& group) {
  // On one VL an order of switches holds whatever the SL: what closes no cycle on one VL closes
  // none when it is spread over several.
  if (routing.virtual_lanes.trivial() || group.sls == 0) return true;
  const unsigned claimed = (1U << (routing.multicast.sl.value & 15U)) | routing.multicast.sls;
  return (group.sls & ~claimed) == 0;
}

/// "SL 0", "SLs 0, 1, 2".
std::string claimed_sls(const ib::route::MulticastRule& rule) {
  std::vector<unsigned> sls;
  for (unsigned sl = 0; sl < 16; ++sl)
    if (sl == rule.sl.value || ((rule.sls >> sl) & 1U) != 0) sls.push_back(sl);
  return fmt::format("{} {}", sls.size() == 1 ? "SL" : "SLs", fmt::join(sls, ", "));
}

/// Switches that members of each group hang from. Who has no place in the fabric is away.
using Members = std::map<Lid, std::vector<ib::fabric::SwitchIndex>>;
Members members_of(const Fabric& fabric, const ib::fabric::CompactGraph& graph,
                   std::span<const MlidGroup> groups) {
  Members members;
  for (const MlidGroup& group : groups) {
    if (group.receivers.empty()) continue;  // nobody to be reached
    std::vector<ib::fabric::SwitchIndex> leaves;
    for (const auto* list : {&group.receivers, &group.senders})
      for (const Guid guid : *list) {
        const auto port = fabric.find_port_guid(guid);
        const auto leaf = port ? leaf_of(fabric, graph, *port) : ib::fabric::kNoSwitch;
        if (leaf != ib::fabric::kNoSwitch) leaves.push_back(leaf);
      }
    std::ranges::sort(leaves);
    leaves.erase(std::ranges::unique(leaves).begin(), leaves.end());
    if (!leaves.empty()) members.emplace(group.mlid, std::move(leaves));
  }
  return members;
}

/// The last MLID that the switch's table holds.
std::uint16_t last_mlid(const SwitchWant& want) {
  return static_cast<std::uint16_t>(
      std::min(ib::kLidUnicastMax.value + unsigned{want.multicast_fdb_cap}, 0xFFFEU));
}

/// What to say of groups whose MLIDs some switch cannot hold; nothing: all hold all.
std::optional<std::string> beyond_tables(const Desired& desired, const Fabric& fabric) {
  if (desired.mfts.empty()) return std::nullopt;
  // One without any multicast forwards none and is no reason to choose other MLIDs.
  const auto least = std::ranges::min_element(desired.switches, {}, [](const SwitchWant& want) {
    return want.multicast_fdb_cap == 0 ? 0xFFFFU : last_mlid(want);
  });
  if (least == desired.switches.end() || least->multicast_fdb_cap == 0) return std::nullopt;
  const auto first = desired.mfts.upper_bound(Lid{last_mlid(*least)});
  if (first == desired.mfts.end()) return std::nullopt;
  const auto s = static_cast<ib::fabric::SwitchIndex>(least - desired.switches.begin());
  const auto& node = fabric.node(desired.routing->graph.node_of(s));
  const auto more = std::distance(first, desired.mfts.end()) - 1;
  return fmt::format(
      "multicast: MLID 0x{:04x}{} beyond the table of {} ({}), which ends at 0x{:04x} "
      "(MulticastFDBCap {}): the members behind it hear nothing; groups that are created again get "
      "lower MLIDs",
      first->first.value, more == 0 ? " is" : fmt::format(" and {} more are", more), node.name(),
      to_string(node.guid), last_mlid(*least), least->multicast_fdb_cap);
}

}  // namespace

MulticastPlan want_multicast(Desired& desired, const Fabric& fabric,
                             std::span<const MlidGroup> groups) {
  const Routing& routing = *desired.routing;
  desired.mfts = multicast_trees(fabric, routing.graph, groups, routing.multicast);
  desired.program_mfts = true;
  // The top without any group is the LID below the first multicast one (IBA 14.2.5.4).
  const std::uint16_t top =
      desired.mfts.empty() ? ib::kLidUnicastMax.value : desired.mfts.rbegin()->first.value;
  // What a switch cannot hold it would refuse, and with it the rest of its SwitchInfo.
  for (SwitchWant& want : desired.switches) want.multicast_fdb_top = std::min(top, last_mlid(want));

  MulticastPlan news;
  if (auto line = beyond_tables(desired, fabric)) news.alarms.push_back(*std::move(line));
  const Members members = members_of(fabric, routing.graph, groups);
  if (desired.mfts.empty() && members.empty()) return news;
  const bool claimed = claims(routing.multicast);
  std::vector<Lid> unclaimed;
  std::map<Lid, std::uint16_t> sls;
  for (const MlidGroup& group : groups) {
    if (group.sls != 0 && !routing.virtual_lanes.trivial()) sls[group.mlid] |= group.sls;
    if (!on_claimed_vl(routing, group) && desired.mfts.contains(group.mlid))
      unclaimed.push_back(group.mlid);
  }
  std::ranges::sort(unclaimed);
  if (!claimed)
    news.notes.push_back(
        fmt::format("multicast: not proved free of credit loops with {}'s routes", routing.engine));
  else if (!unclaimed.empty())
    news.notes.push_back(
        fmt::format("multicast: {} groups not proved free of credit loops: {} says so of {} only",
                    unclaimed.size(), routing.engine, claimed_sls(routing.multicast)));

  ib::tables::MulticastCheck check{
      &desired.mfts, routing.multicast.sl, claimed, &members, unclaimed, &sls};
  auto trees = verify_trees(fabric, routing.graph, check);
  check.members = nullptr;
  std::string left_out;
  if (!trees.must_ok()) {
    // Trees that do not reach every member serve the others all the same.
    left_out = first_must(trees);
    trees = verify_trees(fabric, routing.graph, check);
  }
  if (trees.must_ok() && claimed) {
    const auto verdict = desired.verifier->verify_changes(fabric, routing.graph, routing.lfts, {},
                                                          routing.virtual_lanes, check);
    if (verdict.must_failures > desired.verdict.must_failures) trees = verdict;
  }
  desired.program_mfts = trees.must_ok();
  if (!trees.must_ok())
    news.alarms.push_back("multicast trees are not programmed: " + first_must(trees));
  else if (!left_out.empty())
    news.alarms.push_back("multicast: not every member is reached: " + left_out);
  return news;
}

}  // namespace sm::plan
