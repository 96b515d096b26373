// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/reports/audience.h"

#include "sm/sa/registry/notices.h"

namespace sm::sa {
namespace {

using ib::Lid;
using ib::wire::InformInfo;
using store::Subscription;

constexpr std::uint32_t kAnyProducer = 0xFFFFFF;
constexpr std::uint8_t kTypeSecurity = 2;

/// Whether `wanted` is a GID of the port that issued the notice, be it an alias. (The issuer may
/// have left meanwhile.)
bool is_gid_of(const World& world, const ib::Gid& wanted, ib::Guid issuer) {
  if (!world.is_own_prefix(wanted.prefix())) return false;
  const ib::Guid owner = world.paths->find(wanted.guid()) != nullptr
                             ? ib::Guid{}
                             : world.state.aliases.port_of(wanted.guid());
  return wanted.guid() == issuer || (owner.value != 0 && owner == issuer);
}

}  // namespace

bool is_meant(const World& world, const InformInfo& wanted, const Event& event) {
  const auto& notice = event.notice;
  if (!wanted.gid.is_zero()) {
    if (!is_gid_of(world, wanted.gid, event.issuer_gid.guid())) return false;
  } else if (wanted.lid_range_begin.value != kAnyNotice) {
    // Any LID of the issuer's port will do.
    const auto* port = world.paths->find(notice.issuer_lid);
    const Lid first = port != nullptr ? port->lid : notice.issuer_lid;
    const unsigned count = port != nullptr ? port->lid_count() : 1U;
    if (first.value + count <= wanted.lid_range_begin.value || first > range_end(wanted))
      return false;
  }
  if ((wanted.is_generic == 1) != notice.is_generic) return false;
  if (wanted.type != kAnyNotice && wanted.type != notice.type) return false;
  if (wanted.trap_number != kAnyNotice && wanted.trap_number != notice.trap_number) return false;
  return wanted.producer_type == kAnyProducer || wanted.producer_type == notice.producer_type;
}

bool may_hear(const World& world, const Subscription& subscription, const Event& event) {
  const auto* port = world.paths->find(subscription.subscriber);
  if (port == nullptr || !port->owns(subscription.to.lid)) return false;
  const auto& notice = event.notice;
  const bool security =
      notice.type == kTypeSecurity || (notice.is_generic && is_security_trap(notice.trap_number));
  // Who subscribed by the key that everybody knows is nobody in particular once there is a secret.
  const bool trusted = subscription.trusted && (subscription.by_secret || !world.key_is_secret);
  if (security && !trusted) return false;
  if (event.p_key.base() != 0) return world.policy.holds(*port, event.p_key);
  const auto about = is_gid_notice(notice) ? subject_of(notice) : event.issuer_gid;
  const auto* source = world.holder(about.guid());
  return source == nullptr || world.policy.share(*port, *source);
}

}  // namespace sm::sa
