// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SMInfoRecord: this subnet manager and the others that answered (IBA 15.2.5.8). SM_Keys are not
// told, nor compared, to anybody.
#include "sm/sa/records/families.h"
#include "sm/sa/records/walk.h"

namespace sm::sa {
namespace {

using ib::wire::SmInfo;
using ib::wire::SmInfoRecord;

class SubnetManagerSource final : public RecordSource {
 public:
  SubnetManagerSource(const World& world, const Query& query)
      : RecordSource(ib::wire::LayoutOf<SmInfoRecord>::kBytes),
        paths_(world.paths),
        device_state_(world.device_state),
        policy_(world.policy),
        query_(query),
        wanted_(ib::wire::decode<SmInfoRecord>(query.wanted.data())) {}

 private:
  /// This one first.
  Found search(std::byte* record, std::size_t most, std::size_t& looked_at) override {
    const auto& others = device_state_->other_sms;
    while (at_ <= others.size()) {
      if (looked_at == most) return Found::NotYet;
      ++looked_at;
      const SmInfo& info = at_ == 0 ? device_state_->own_sm : others[at_ - 1];
      ++at_;
      if (give(info, record)) return Found::Record;
    }
    return Found::Nothing;
  }
  bool give(const SmInfo& info, std::byte* to) const {
    const EndPort* port = paths_->find(info.guid);
    if (port == nullptr || !is_shown(policy_, query_.requester, *port)) return false;
    if (has_bit(query_.mask, kLidBit) && !port->owns(wanted_.lid)) return false;
    SmInfoRecord r;
    r.lid = port->lid;
    r.sm_info = info;
    r.sm_info.sm_key = 0;
    if (!ib::wire::matches(r, wanted_, query_.mask & ~bit(kLidBit))) return false;
    put(r, to, record_bytes());
    return true;
  }

  std::shared_ptr<const Paths> paths_;
  DeviceStatePtr device_state_;
  const Policy& policy_;
  Query query_;
  SmInfoRecord wanted_;
  std::size_t at_{0};
};

}  // namespace

Opened open_subnet_managers(const World& world, const Query& query) {
  return std::make_unique<SubnetManagerSource>(world, query);
}

}  // namespace sm::sa
