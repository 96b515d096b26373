// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/verify_multicast.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "libdiag/base/groups.h"
#include "libdiag/tables/names.h"

namespace ib::tables::check {
namespace {

template <class Function>
void for_ports(const PortMask& mask, Function function) {
  for (unsigned word = 0; word < mask.bits.size(); ++word)
    for (std::uint64_t bits = mask.bits[word]; bits != 0; bits &= bits - 1)
      function(
          static_cast<std::uint8_t>(word * 64 + static_cast<unsigned>(std::countr_zero(bits))));
}

/// The channel that comes back over the link of c, kNoChannel when that is not known.
Channel reverse(const SwitchGraph& switch_graph, Channel c) {
  const Channel back = switch_graph.link(switch_graph.to[c], switch_graph.in_port[c]);
  return back != kNoChannel && switch_graph.to[back] == switch_graph.from(c) ? back : kNoChannel;
}

bool in_mask(const std::map<SwitchIndex, PortMask>& tree, SwitchIndex s, std::uint8_t port) {
  const auto at = tree.find(s);
  return at != tree.end() && at->second.test(port);
}

}  // namespace

bool check_trees(const fabric::Fabric& fabric, const SwitchGraph& switch_graph,
                 const MulticastCheck& multicast, const VerifyOptions& options, Verdict& verdict) {
  const std::uint64_t before = verdict.multicast_faults;
  const auto name = [&](SwitchIndex s) { return switch_name(fabric, switch_graph.graph, s); };
  for (const auto& [mlid, tree] : *multicast.trees) {
    const auto report = [&, lid = mlid](SwitchIndex s, std::uint8_t port, const std::string& what) {
      ++verdict.multicast_faults;
      if (verdict.findings.size() < options.findings_max)
        verdict.findings.push_back({Finding::Kind::Multicast,
                                    true,
                                    lid,
                                    {{s, port}},
                                    fmt::format("MLID 0x{:04x}: {}", lid.value, what)});
    };
    Groups parts(switch_graph.graph.switch_count());
    std::vector<SwitchIndex> members;
    for (const auto& [s, mask] : tree) {
      bool host = false;
      for_ports(mask, [&, s = s](std::uint8_t port) {
        const Channel c = switch_graph.link(s, port);
        if (c == kNoChannel) {
          host = true;
          return;
        }
        const Channel back = reverse(switch_graph, c);
        const bool answered =
            back != kNoChannel && in_mask(tree, switch_graph.to[c], switch_graph.port(back));
        if (!answered)
          report(s, port,
                 fmt::format("{} port {} leads to {}, whose table does not have the link", name(s),
                             port, name(switch_graph.to[c])));
        // A link that both ends have is looked at once.
        if ((!answered || c < back) && !parts.join(s, switch_graph.to[c]))
          report(s, port,
                 fmt::format("the link of {} port {} to {} closes a loop", name(s), port,
                             name(switch_graph.to[c])));
      });
      if (host) members.push_back(s);
    }
    if (multicast.members != nullptr) {
      const auto at = multicast.members->find(mlid);
      members = at != multicast.members->end() ? at->second : std::vector<SwitchIndex>{};
    }
    std::map<std::uint32_t, SwitchIndex> first;  // by piece of the fabric
    for (const SwitchIndex s : members) {
      const SwitchIndex other = first.emplace(switch_graph.pieces.of[s], s).first->second;
      if (parts.find(s) != parts.find(other))
        report(s, 0,
               fmt::format("{}, which has members, is not joined to {}", name(s), name(other)));
    }
  }
  if (multicast.members != nullptr)
    for (const auto& [mlid, members] : *multicast.members)
      if (members.size() > 1 && !multicast.trees->contains(mlid)) {
        ++verdict.multicast_faults;
        if (verdict.findings.size() < options.findings_max)
          verdict.findings.push_back(
              {Finding::Kind::Multicast,
               true,
               mlid,
               {},
               fmt::format("MLID 0x{:04x}: it has members and no tree", mlid.value)});
      }
  return verdict.multicast_faults == before;
}

namespace {

/// One tree on one SL.
void add_turns_of_tree(const SwitchGraph& switch_graph, const VlView& virtual_lanes,
                       const std::map<SwitchIndex, PortMask>& tree, unsigned sl,
                       Dependencies& turns, std::vector<std::uint16_t>& carried) {
  const auto vl = [&](SwitchIndex s, std::uint8_t in, std::uint8_t out) {
    return virtual_lanes.kind() == VlView::Kind::One ? 0U : virtual_lanes.vl(s, in, out, sl);
  };
  for (const auto& [at, mask] : tree) {
    for_ports(mask, [&, s = at, &m = mask](std::uint8_t in) {
      for_ports(m, [&](std::uint8_t out) {
        if (in == out) return;
        const unsigned next_vl = vl(s, in, out);
        if (out != 0)
          carried[switch_graph.channel(s, out)] |= static_cast<std::uint16_t>(
              1U << (virtual_lanes.kind() == VlView::Kind::One ? virtual_lanes.vl(s, in, out, sl)
                                                               : next_vl));
        if (switch_graph.link(s, out) == kNoChannel || next_vl >= kVlDrop) return;
        const Channel back = switch_graph.link(s, in);
        if (back == kNoChannel) return;
        const Channel c = reverse(switch_graph, back);  // what comes in by `in`
        if (c == kNoChannel) return;
        // The VL it came on depends on where it came in one switch before.
        const SwitchIndex before = switch_graph.from(c);
        const auto sender = tree.find(before);
        if (sender == tree.end() || !sender->second.test(switch_graph.port(c))) return;
        for_ports(sender->second, [&](std::uint8_t first) {
          if (first == switch_graph.port(c)) return;
          const unsigned came = vl(before, first, switch_graph.port(c));
          if (came < kVlDrop) turns.add(c, came, out, next_vl);
        });
      });
    });
  }
}

}  // namespace

void add_multicast_turns(const SwitchGraph& switch_graph, const VlView& virtual_lanes,
                         const MulticastCheck& multicast, Dependencies& turns,
                         std::vector<std::uint16_t>& carried) {
  for (const auto& [mlid, tree] : *multicast.trees) {
    if (std::ranges::binary_search(multicast.unclaimed, mlid)) continue;
    for (unsigned bits = multicast.sls_of(mlid); bits != 0; bits &= bits - 1)
      add_turns_of_tree(switch_graph, virtual_lanes, tree,
                        static_cast<unsigned>(std::countr_zero(bits)), turns, carried);
  }
}

}  // namespace ib::tables::check

namespace ib::tables {

std::uint16_t MulticastCheck::sls_of(Lid mlid) const {
  const auto own = static_cast<std::uint16_t>(1U << (sl.value & 15U));
  if (sls == nullptr) return own;
  const auto at = sls->find(mlid);
  return at == sls->end() ? own : at->second;
}

std::uint16_t MulticastCheck::claimed_sls() const {
  if (!claimed || trees == nullptr) return 0;
  std::uint16_t all = 0;
  for (const auto& [mlid, tree] : *trees)
    if (!std::ranges::binary_search(unclaimed, mlid)) all |= sls_of(mlid);
  return all;
}

}  // namespace ib::tables
