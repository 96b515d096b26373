// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <set>

#include "sm/sa/registry/dump_file.h"

namespace sm::sa {

using ib::Gid;
using ib::Guid;
using ib::Lid;
using store::AliasGuid;
using store::McMember;
using store::Service;
using store::Subscription;

Missing missing_from(const store::Contents& contents, const store::Contents& dump,
                     std::int64_t unix_seconds) {
  Missing missing;
  store::Batch& batch = missing.batch;
  std::map<Gid, Lid> known;
  std::map<Lid, Gid> taken;
  for (const auto& group : contents.groups) {
    known.emplace(group.mgid, group.mlid);
    taken.emplace(group.mlid, group.mgid);
  }
  std::set<std::pair<Gid, Gid>> joined;
  for (const auto& member : contents.members) joined.emplace(member.mgid, member.port_gid);

  auto member = dump.members.begin();
  for (const auto& group : dump.groups) {
    std::vector<McMember> lacking;
    while (member != dump.members.end() && member->mgid < group.mgid) ++member;
    for (; member != dump.members.end() && member->mgid == group.mgid; ++member)
      if (!joined.contains({member->mgid, member->port_gid})) lacking.push_back(*member);
    const auto leave_out = [&](const std::string& but) {
      if (lacking.empty()) return;
      missing.left_out.push_back(fmt::format(
          "group {}: {} to join again: in the dump it has MLID 0x{:04x}, {}", to_string(group.mgid),
          lacking.size() == 1 ? "one member has" : fmt::format("{} members have", lacking.size()),
          group.mlid.value, but));
    };
    if (const auto here = known.find(group.mgid); here != known.end()) {
      if (here->second != group.mlid) {
        leave_out(fmt::format("here 0x{:04x}", here->second.value));
        continue;
      }
    } else if (const auto other = taken.find(group.mlid); other != taken.end()) {
      // Groups of the dump may share an MLID; with others they do not.
      leave_out(fmt::format("which here is that of {}", to_string(other->second)));
      continue;
    } else {
      batch.groups.push_back(group);
    }
    batch.members.insert(batch.members.end(), lacking.begin(), lacking.end());
  }

  const auto lacks = [](const auto& list, const auto& same) {
    return std::none_of(list.begin(), list.end(), same);
  };
  for (const auto& s : dump.services)
    if (s.expires > unix_seconds &&
        lacks(contents.services, [&](const Service& o) { return o.key() == s.key(); }))
      batch.services.push_back(s);
  for (const auto& s : dump.subscriptions)
    if (lacks(contents.subscriptions,
              [&](const Subscription& o) { return std::is_eq(compare_keys(o, s)); }))
      batch.subscriptions.push_back(s);
  // A GUID is one port's only.
  std::set<Guid> in_use;
  for (const auto& a : contents.aliases) in_use.insert(a.guid);
  for (const auto& a : dump.aliases)
    if (lacks(contents.aliases,
              [&](const AliasGuid& o) {
                return o.port_guid == a.port_guid && o.index == a.index && o.guid.value != 0;
              }) &&
        in_use.insert(a.guid).second)
      batch.aliases.push_back(a);
  return missing;
}

}  // namespace sm::sa
