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

}  // namespace

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
}

std::unique_ptr<Store> make_memory_store(Contents contents) {
  return std::make_unique<MemoryStore>(std::move(contents));
}

}  // namespace sm::store
