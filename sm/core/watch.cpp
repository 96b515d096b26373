// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The subnet of another master: swept for who only reads. A sweep only Gets, which needs no
// mastership, and what it finds is no plan's and no election's.
#include <algorithm>

#include "sm/core/impl.h"

namespace sm::core {

bool SubnetManager::Impl::may_watch() const {
  return started && sweeping && !paused && options.watch_every && !mastership.is_master() &&
         !mastership.sweeps();
}

void SubnetManager::Impl::begin_watch(Instant now) {
  watching = true;
  reasons = {Reason::Watch};
  begin_sweep(now);
}

void SubnetManager::Impl::tell_watched(Instant now) {
  watch_at = now + *options.watch_every;
  auto s = std::make_shared<Snapshot>();
  s->generation = ++generation;
  s->observed = seen;
  s->sm_port = seen->local_port;
  if (seen->fabric.node(s->sm_port.node).is_switch()) s->sm_port.port = 0;
  s->sm_port_guid = seen->fabric.port(s->sm_port).guid;
  if (const auto* own = seen->known_port(s->sm_port))
    s->sm_lid = own->get<&ib::wire::PortInfo::lid>();
  const auto& others = mastership.others();
  const auto master = std::ranges::find_if(others.all(), [](const auto& entry) {
    return entry.second.answered && entry.second.info.sm_state == ib::wire::SmState::Master;
  });
  effects.watched = Watched{
      std::move(s), master == others.all().end() ? std::string() : others.describe(master->first)};
}

}  // namespace sm::core
