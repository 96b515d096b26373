// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// I8: what was acknowledged to a client is what subnet administration knows: what it registered is
// there, what it took back is not. When it is settled, and some light sweeps later.
#include <fmt/format.h>

#include <algorithm>

#include "tests/sim/system/checks/check.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

using sm::store::Contents;

bool knows(const Contents& contents, ib::Guid port, const Wish& wish) {
  switch (wish.what) {
    case Wanted::Membership:
      return std::ranges::any_of(contents.members, [&](const auto& m) {
        return m.port_gid.guid() == port && m.mgid == Clients::group(wish.number) &&
               (m.join_state & 1) != 0;
      });
    case Wanted::Service:
      return std::ranges::any_of(contents.services, [&](const auto& s) {
        return s.owner == port && s.record.service_id == Clients::service(wish.number);
      });
    case Wanted::Notices:
      return std::ranges::any_of(contents.subscriptions, [&](const auto& s) {
        return s.subscriber == port && s.inform_info.trap_number == Clients::notice(wish.number);
      });
  }
  return false;
}

class RegistrationCheck final : public Check {
 public:
  void on_settled(System& system) override { look(system); }
  void on_end(System& system) override { look(system); }

 private:
  static void look(System& system) {
    std::map<const Seat*, Contents> registered;
    for (Seat* master : system.masters()) registered[master] = master->manager->registered();
    for (const auto& client : system.clients().all()) {
      const Seat* master = system.master_of(client.at.node);
      if (master == nullptr || !system.wires().end(client.at).active) continue;
      const ib::Guid guid = system.model().topology().port(client.at).guid;
      for (const Wish& wish : client.wishes) {
        if (!wish.granted || knows(registered[master], guid, wish) == wish.wanted) continue;
        return system.report(
            "I8", fmt::format("{} {} of {} was acknowledged, and it is {}there", name_of(wish.what),
                              wish.number, system.name(client.at), wish.wanted ? "not " : ""));
      }
    }
  }
};

}  // namespace

std::unique_ptr<Check> make_registration_check() { return std::make_unique<RegistrationCheck>(); }

}  // namespace soak
