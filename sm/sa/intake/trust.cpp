// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/intake/trust.h"

#include "sm/sa/registry/mask.h"
#include "sm/sa/registry/world.h"

namespace sm::sa {

using ib::wire::Method;
namespace attr = ib::wire::attr;

Trust trust_of(std::uint64_t key, const TrustOptions& options) {
  if (key == options.sa_key && key != 0) return Trust::Trusted;
  if (key == 0 || (options.sa_key_is_secret && key == kKnownSaKey)) return Trust::Untrusted;
  return Trust::Wrong;
}

bool is_open_to_all(const ib::wire::Mad& request, const TrustOptions& options) {
  const Method method = request.method();
  const bool changes = method == Method::Set || method == Method::Delete;
  switch (request.attribute_id()) {
    case attr::kClassPortInfo:
      return method == Method::Get;
    case attr::kInformInfo:
      return method == Method::Set;
    case attr::kMcMemberRecord:
    case attr::kServiceRecord:
      return method == Method::Get || changes;
    case attr::kGuidInfoRecord:
      return changes && options.untrusted_guid_info;
    case attr::kPathRecord: {
      if (method == Method::Get) return true;
      // A table only between two points: DGID or DLID, and SGID or SLID.
      const auto mask = request.get<&ib::wire::SaHeader::component_mask>();
      return method == Method::GetTable && (mask & (bit(2) | bit(4))) != 0 &&
             (mask & (bit(3) | bit(5))) != 0;
    }
    default:
      return false;
  }
}

bool bears_another_gid(const World& world, const ib::mad::Packet& request) {
  if (!request.address.grh) return false;
  const auto& gid = request.address.grh->gid;
  if (gid.prefix() != world.snapshot().subnet_prefix) return false;
  const auto* owner = world.holder(gid.guid());
  return owner != nullptr && !owner->owns(request.address.lid);
}

}  // namespace sm::sa
