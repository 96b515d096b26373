// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/multicast.h"

#include <algorithm>

#include "libdiag/wire/rates.h"
#include "sm/sa/registry/mask.h"

namespace sm::sa {
namespace {

using ib::Gid;
using ib::Guid;
using ib::Lid;
using ib::wire::McMemberRecord;
using ib::wire::Selector;
using store::McGroup;
using store::McMember;

/// ff1<scope>:a01b:<subnet prefix>:<number>
Gid made_mgid(std::uint8_t scope, std::uint64_t prefix, std::uint32_t number) {
  Gid g;
  g.bytes = {0xFF, static_cast<std::uint8_t>(0x10 | scope), 0xa0, 0x1b};
  for (unsigned i = 0; i < 8; ++i)
    g.bytes[4 + i] = static_cast<std::uint8_t>(prefix >> (56 - 8 * i));
  for (unsigned i = 0; i < 4; ++i)
    g.bytes[12 + i] = static_cast<std::uint8_t>(number >> (24 - 8 * i));
  return g;
}
/// The number in an MGID of our making, 0 in another.
std::uint32_t number_in(const Gid& mgid) {
  if (mgid.bytes[2] != 0xa0 || mgid.bytes[3] != 0x1b) return 0;
  std::uint32_t number = 0;
  for (unsigned i = 12; i < 16; ++i) number = number << 8 | mgid.bytes[i];
  return number;
}

/// A proxy answers for what it joined; of one that is not known nobody does.
Guid who_pays(const McMember& member) {
  return member.proxy_join ? member.joined_by : member.port_gid.guid();
}

}  // namespace

McMemberRecord to_record(const McGroup& g) {
  McMemberRecord r;
  r.mgid = g.mgid;
  r.q_key = g.q_key;
  r.mlid = g.mlid;
  r.mtu_selector = r.rate_selector = r.packet_life_selector = Selector::Exactly;
  r.mtu = g.mtu;
  r.rate = g.rate;
  r.packet_life = g.packet_life;
  r.traffic_class = g.traffic_class;
  r.p_key = g.p_key;
  r.sl = g.sl;
  r.flow_label = g.flow_label;
  r.hop_limit = g.hop_limit;
  r.scope = g.scope;
  return r;
}

bool valid_selectors(const McMemberRecord& r, std::uint64_t mask) {
  if (has_both(mask, mc_bit::kMtuSelector, mc_bit::kMtu) && ib::wire::mtu_bytes(r.mtu) == 0)
    return false;
  return !has_both(mask, mc_bit::kRateSelector, mc_bit::kRate) || ib::wire::rate_gbps(r.rate) > 0;
}

bool satisfies(Selector selector, int order) {
  switch (selector) {
    case Selector::GreaterThan:
      return order > 0;
    case Selector::LessThan:
      return order < 0;
    case Selector::Exactly:
      return order == 0;
    case Selector::Largest:
      return true;
  }
  return false;
}

bool selectors_agree(const McGroup& g, const McMemberRecord& wanted, std::uint64_t mask) {
  if (has_bit(mask, mc_bit::kMtuSelector) &&
      !satisfies(wanted.mtu_selector, int{g.mtu} - int{wanted.mtu}))
    return false;
  return !has_bit(mask, mc_bit::kRateSelector) ||
         satisfies(wanted.rate_selector, ib::wire::compare_rates(g.rate, wanted.rate));
}

bool parameters_agree(const McGroup& g, const McMemberRecord& w, std::uint64_t mask) {
  const auto differs = [&](unsigned n, bool same) { return has_bit(mask, n) && !same; };
  // Keys agree when one side at least is a full member's (IBA 10.9.3).
  const bool p_key_same =
      g.p_key.base() == w.p_key.base() && (g.p_key.is_full() || w.p_key.is_full());
  return !(differs(mc_bit::kQKey, g.q_key == w.q_key) || differs(mc_bit::kPKey, p_key_same) ||
           differs(mc_bit::kTClass, g.traffic_class == w.traffic_class) ||
           differs(mc_bit::kSl, g.sl == w.sl) ||
           differs(mc_bit::kFlowLabel, g.flow_label == w.flow_label) ||
           differs(mc_bit::kHopLimit, g.hop_limit == w.hop_limit));
}

void Multicast::apply(const store::Batch& batch) {
  for (const auto& mgid : batch.groups_removed) remove_group(mgid);
  for (const auto& group : batch.groups) put_group(group);
  for (const auto& member : batch.members) {
    if (member.join_state != 0) {
      put_member(member);
    } else {
      remove_member(member.mgid, member.port_gid);
    }
  }
}

void Multicast::remove_group(const Gid& mgid) {
  const auto at = groups_.find(mgid);
  if (at == groups_.end()) return;
  for (const auto& member : at->second.members) forget_member(member);
  mlids_.release(at->second.values.mlid);
  member_count_ -= at->second.members.size();
  groups_.erase(at);
}

void Multicast::put_group(const McGroup& values) {
  const auto [at, is_new] = groups_.try_emplace(values.mgid);
  if (!is_new) mlids_.release(at->second.values.mlid);
  mlids_.take(values.mlid);
  at->second.values = values;
  if (const auto number = number_in(values.mgid); is_new && number != 0) last_mgid_ = number;
}

void Multicast::put_member(const McMember& member) {
  const auto at = groups_.find(member.mgid);
  if (at == groups_.end()) return;
  remove_member(member.mgid, member.port_gid);
  at->second.members.insert(member);
  ++member_count_;
  at->second.full += join_state::keeps_group(member.join_state) ? 1U : 0U;
  ports_[member.port_gid].insert(member.mgid);
  ++charged_to_[who_pays(member)];
}

void Multicast::remove_member(const Gid& mgid, const Gid& port) {
  const auto at = groups_.find(mgid);
  if (at == groups_.end()) return;
  const auto member = at->second.members.find(port);
  if (member == at->second.members.end()) return;
  at->second.full -= join_state::keeps_group(member->join_state) ? 1U : 0U;
  forget_member(*member);
  at->second.members.erase(member);
  --member_count_;
}

void Multicast::forget_member(const McMember& member) {
  if (const auto at = ports_.find(member.port_gid); at != ports_.end()) {
    at->second.erase(member.mgid);
    if (at->second.empty()) ports_.erase(at);
  }
  if (const auto at = charged_to_.find(who_pays(member)); at != charged_to_.end())
    if (--at->second == 0) charged_to_.erase(at);
}

const Multicast::Group* Multicast::find_group(const Gid& mgid) const {
  const auto at = groups_.find(mgid);
  return at != groups_.end() ? &at->second : nullptr;
}

const McGroup* Multicast::find(const Gid& mgid) const {
  const auto* group = find_group(mgid);
  return group != nullptr ? &group->values : nullptr;
}

const Multicast::Members& Multicast::members(const Gid& mgid) const {
  static const Members kNone;
  const auto* group = find_group(mgid);
  return group != nullptr ? group->members : kNone;
}

const McMember* Multicast::find_member(const Gid& mgid, const Gid& port) const {
  const auto& list = members(mgid);
  const auto at = list.find(port);
  return at != list.end() ? &*at : nullptr;
}

std::size_t Multicast::charged_to(Guid port) const {
  const auto at = charged_to_.find(port);
  return at != charged_to_.end() ? at->second : 0;
}

Gid Multicast::free_mgid(std::uint8_t scope, std::uint64_t prefix) const {
  // The numbers after the newest are free unless clients chose them, or they went round.
  for (std::uint32_t number = last_mgid_ + 1;; ++number) {
    if (number == 0) continue;
    const Gid mgid = made_mgid(scope, prefix, number);
    if (find(mgid) == nullptr) return mgid;
  }
}

const McGroup* Multicast::find_alike(const Gid& mgid, std::size_t bytes) const {
  Gid first = mgid;
  std::fill(first.bytes.begin() + static_cast<std::ptrdiff_t>(bytes), first.bytes.end(),
            std::uint8_t{0});
  const auto at = groups_.lower_bound(first);
  const bool alike =
      at != groups_.end() &&
      std::equal(mgid.bytes.begin(), mgid.bytes.begin() + static_cast<std::ptrdiff_t>(bytes),
                 at->first.bytes.begin());
  return alike ? &at->second.values : nullptr;
}

std::vector<MlidMembers> Multicast::by_mlid(const std::function<Guid(Guid)>& port_of) const {
  std::map<Lid, MlidMembers> found;
  for (const auto& [mgid, group] : groups_) {
    auto& entry = found[group.values.mlid];
    entry.mlid = group.values.mlid;
    entry.sls |= static_cast<std::uint16_t>(1U << (group.values.sl.value & 15U));
    for (const auto& member : group.members)
      (join_state::receives(member.join_state) ? entry.receivers : entry.senders)
          .push_back(port_of(member.port_gid.guid()));
  }
  std::vector<MlidMembers> list;
  for (auto& [mlid, entry] : found) {
    for (auto* guids : {&entry.receivers, &entry.senders}) {
      std::sort(guids->begin(), guids->end());
      guids->erase(std::unique(guids->begin(), guids->end()), guids->end());
    }
    list.push_back(std::move(entry));
  }
  return list;
}

void Multicast::add_to(store::Contents& contents) const {
  for (const auto& [mgid, group] : groups_) {
    contents.groups.push_back(group.values);
    contents.members.insert(contents.members.end(), group.members.begin(), group.members.end());
  }
}

void Multicast::BatchKeys::add(const store::Batch& batch) {
  groups_removed_.insert(batch.groups_removed.begin(), batch.groups_removed.end());
  for (const auto& group : batch.groups) groups_.insert(group.mgid);
  for (const auto& member : batch.members) members_.emplace(member.mgid, member.port_gid);
}

void Multicast::BatchKeys::bring(const Multicast& present, store::Batch& batch) const {
  // A group that was removed, and made again or not: as a whole.
  for (const auto& mgid : groups_removed_) {
    batch.groups_removed.push_back(mgid);
    const auto* group = present.find(mgid);
    if (group == nullptr) continue;
    batch.groups.push_back(*group);
    const auto& members = present.members(mgid);
    batch.members.insert(batch.members.end(), members.begin(), members.end());
  }
  for (const auto& mgid : groups_) {
    if (groups_removed_.contains(mgid)) continue;
    if (const auto* group = present.find(mgid)) {
      batch.groups.push_back(*group);
    } else {
      batch.groups_removed.push_back(mgid);
    }
  }
  for (const auto& [mgid, port] : members_) {
    if (groups_removed_.contains(mgid) || present.find(mgid) == nullptr) continue;
    const auto* member = present.find_member(mgid, port);
    batch.members.push_back(member != nullptr ? *member : store::McMember{mgid, port, 0, false});
  }
}

}  // namespace sm::sa
