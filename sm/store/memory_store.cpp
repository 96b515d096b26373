// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <algorithm>
#include <tuple>

#include "sm/store/store.h"

namespace sm::store {
namespace {

/// Puts `value` into the ascending `list`, replacing the element with the same key.
template <class T, class Key>
void put(std::vector<T>& list, const T& value, Key key) {
  auto at = std::lower_bound(list.begin(), list.end(), value,
                             [&](const T& a, const T& b) { return key(a) < key(b); });
  if (at != list.end() && key(*at) == key(value)) {
    *at = value;
  } else {
    list.insert(at, value);
  }
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

/// The same for a list whose order is a comparison of two elements.
void put(std::vector<Subscription>& list, const Subscription& value) {
  auto at = std::lower_bound(
      list.begin(), list.end(), value,
      [](const Subscription& a, const Subscription& b) { return compare_keys(a, b) < 0; });
  if (at != list.end() && compare_keys(*at, value) == 0) {
    *at = value;
  } else {
    list.insert(at, value);
  }
}

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
  const auto guid_of = [](const LidClaim& c) { return c.port_guid; };
  const auto mgid_of = [](const McGroup& g) { return g.mgid; };
  const auto member_key = [](const McMember& m) { return std::tie(m.mgid, m.port_gid); };

  if (batch.forget_lids) contents.lids.clear();
  for (const auto guid : batch.lids_removed)
    std::erase_if(contents.lids, [&](const LidClaim& c) { return c.port_guid == guid; });
  for (const auto& claim : batch.lids) put(contents.lids, claim, guid_of);
  for (const auto& mgid : batch.groups_removed) {
    std::erase_if(contents.groups, [&](const McGroup& g) { return g.mgid == mgid; });
    std::erase_if(contents.members, [&](const McMember& m) { return m.mgid == mgid; });
  }
  for (const auto& group : batch.groups) put(contents.groups, group, mgid_of);
  for (const auto& member : batch.members) {
    if (member.join_state != 0) {
      put(contents.members, member, member_key);
    } else {
      std::erase_if(contents.members,
                    [&](const McMember& m) { return member_key(m) == member_key(member); });
    }
  }
  for (const auto& key : batch.services_removed)
    std::erase_if(contents.services, [&](const Service& s) { return s.key() == key; });
  for (const auto& service : batch.services)
    put(contents.services, service, [](const Service& s) { return s.key(); });
  for (const auto& gone : batch.subscriptions_removed)
    std::erase_if(contents.subscriptions,
                  [&](const Subscription& s) { return compare_keys(s, gone) == 0; });
  for (const auto& subscription : batch.subscriptions) put(contents.subscriptions, subscription);
  const auto alias_key = [](const AliasGuid& a) { return std::tie(a.port_guid, a.index); };
  for (const auto& alias : batch.aliases) {
    if (alias.guid.value != 0) {
      put(contents.aliases, alias, alias_key);
    } else {
      std::erase_if(contents.aliases,
                    [&](const AliasGuid& a) { return alias_key(a) == alias_key(alias); });
    }
  }
}

std::unique_ptr<Store> make_memory_store(Contents contents) {
  return std::make_unique<MemoryStore>(std::move(contents));
}

}  // namespace sm::store
