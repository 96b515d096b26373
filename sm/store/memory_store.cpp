// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <algorithm>
#include <compare>
#include <tuple>
#include <utility>

#include "sm/store/store.h"

namespace sm::store {
namespace {

/// Puts `value` into the ascending `list`, replacing the element with the same key.
template <class T, class Less>
void put(std::vector<T>& list, const T& value, Less less) {
  const auto at = std::lower_bound(list.begin(), list.end(), value, less);
  if (at != list.end() && !less(value, *at)) {
    *at = value;
  } else {
    list.insert(at, value);
  }
}

/// Removes what has the key of `value`, if it is there.
template <class T, class Less>
void remove(std::vector<T>& list, const T& value, Less less) {
  const auto [first, last] = std::equal_range(list.begin(), list.end(), value, less);
  list.erase(first, last);
}

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(Contents contents) : contents_(std::move(contents)) {}
  ib::Result<Contents> load() override { return contents_; }
  ib::Result<void> commit(const Batch& batch) override {
    apply(batch, contents_);
    return {};
  }

 private:
  Contents contents_;
};

}  // namespace

std::strong_ordering compare_keys(const Subscription& a, const Subscription& b) {
  const auto key = [](const Subscription& s) {
    const auto& i = s.inform_info;
    // A subscription by GID does not look at the LID range.
    const bool by_gid = !i.gid.is_zero();
    return std::tuple(s.to.lid, s.to.path_bits, s.to.qpn, s.to.q_key, s.to.p_key_index, s.to.sl,
                      i.gid, by_gid ? ib::Lid{} : i.lid_range_begin,
                      by_gid ? ib::Lid{} : i.lid_range_end, i.is_generic, i.type, i.trap_number,
                      i.resp_time_value, i.producer_type);
  };
  return key(a) <=> key(b);
}

void apply(const Batch& batch, Contents& contents) {
  const auto by_port = [](const LidClaim& a, const LidClaim& b) {
    return a.port_guid < b.port_guid;
  };
  if (batch.forget_lids) contents.lids.clear();
  for (const auto guid : batch.lids_removed) remove(contents.lids, LidClaim{guid}, by_port);
  for (const auto& claim : batch.lids) put(contents.lids, claim, by_port);

  const auto by_mgid = [](const auto& a, const auto& b) { return a.mgid < b.mgid; };
  const auto by_member = [](const McMember& a, const McMember& b) {
    return std::tie(a.mgid, a.port_gid) < std::tie(b.mgid, b.port_gid);
  };
  for (const auto& mgid : batch.groups_removed) {
    McGroup gone;
    gone.mgid = mgid;
    remove(contents.groups, gone, by_mgid);
    remove(contents.members, McMember{mgid}, by_mgid);  // all of them
  }
  for (const auto& group : batch.groups) put(contents.groups, group, by_mgid);
  for (const auto& member : batch.members) {
    if (member.join_state != 0) {
      put(contents.members, member, by_member);
    } else {
      remove(contents.members, member, by_member);
    }
  }

  const auto by_key = [](const Service& a, const Service& b) { return a.key() < b.key(); };
  for (const auto& key : batch.services_removed) {
    Service gone;
    gone.record.service_id = key.service_id;
    gone.record.service_gid = key.service_gid;
    gone.record.service_p_key = key.p_key;
    remove(contents.services, gone, by_key);
  }
  for (const auto& service : batch.services) put(contents.services, service, by_key);

  const auto by_subscription = [](const Subscription& a, const Subscription& b) {
    return std::is_lt(compare_keys(a, b));
  };
  for (const auto& gone : batch.subscriptions_removed)
    remove(contents.subscriptions, gone, by_subscription);
  for (const auto& one : batch.subscriptions) put(contents.subscriptions, one, by_subscription);

  const auto by_place = [](const AliasGuid& a, const AliasGuid& b) {
    return std::tie(a.port_guid, a.index) < std::tie(b.port_guid, b.index);
  };
  for (const auto& [port, index] : batch.aliases_forgotten)
    remove(contents.aliases, AliasGuid{port, index, {}}, by_place);
  for (const auto& alias : batch.aliases) put(contents.aliases, alias, by_place);

  const auto by_partition = [](const PartitionMember& a, const PartitionMember& b) {
    return std::tie(a.p_key, a.port_guid) < std::tie(b.p_key, b.port_guid);
  };
  for (const auto& member : batch.partition_members) {
    if (member.membership != 0) {
      put(contents.partition_members, member, by_partition);
    } else {
      remove(contents.partition_members, member, by_partition);
    }
  }

  const auto by_name = [](const GeneratedPKey& a, const GeneratedPKey& b) {
    return a.name < b.name;
  };
  for (const auto& key : batch.generated_p_keys) put(contents.generated_p_keys, key, by_name);
  contents.vls_programmed = batch.vls_programmed.value_or(contents.vls_programmed);
}

Batch batch_of(Contents contents) {
  Batch batch;
  batch.lids = std::move(contents.lids);
  batch.groups = std::move(contents.groups);
  batch.members = std::move(contents.members);
  batch.services = std::move(contents.services);
  batch.subscriptions = std::move(contents.subscriptions);
  batch.aliases = std::move(contents.aliases);
  batch.partition_members = std::move(contents.partition_members);
  batch.generated_p_keys = std::move(contents.generated_p_keys);
  if (contents.vls_programmed) batch.vls_programmed = true;
  return batch;
}

std::unique_ptr<Store> make_memory_store(Contents contents) {
  return std::make_unique<MemoryStore>(std::move(contents));
}

}  // namespace sm::store
