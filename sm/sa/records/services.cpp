// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ServiceRecord as it is read (IBA 15.2.5.14): what is registered in the partitions of who asks.
#include "sm/sa/records/families.h"
#include "sm/sa/records/walk.h"

namespace sm::sa {
namespace {

using ib::wire::ServiceRecord;
using All = std::map<store::ServiceKey, store::Service>;

class ServiceSource final : public KeyWalk<ServiceRecord, All> {
 public:
  ServiceSource(const World& world, const Query& query)
      : KeyWalk(world, query, world.state.services.all()) {}

 private:
  bool make(const Entry& entry, ServiceRecord& r) const override {
    const auto& [key, service] = entry;
    const Requester& requester = query().requester;
    if (requester.port == nullptr) return false;
    // Without a P_Key a service is in no partition in particular.
    if (key.p_key.base() != 0 && !policy().holds(*requester.port, key.p_key)) return false;
    r = service.record;
    // Keys are shown with the SA key only. What is not shown is not compared either, or a compare
    // would tell it; but a port may look for what it registered itself.
    if (!requester.trusted && service.owner != requester.port->guid) r.key = {};
    if (!ib::wire::matches(r, wanted(), query().mask)) return false;
    if (!requester.trusted) r.key = {};
    return true;
  }
};

}  // namespace

Opened open_services(const World& world, const Query& query) {
  return std::make_unique<ServiceSource>(world, query);
}

}  // namespace sm::sa
