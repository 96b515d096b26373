// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// VPortUpkeep: virtual ports of HCA ports (vendor attributes 0xFFB0 to 0xFFB6) from what their
// devices say to Active, with the P_Keys and the rate limits that policies have for their GUIDs. A
// machine for the time between sweeps. It asks only ports whose CapabilityMask2 says that they have
// some, and those after sweeps, after the traps that tell of changes, and again when somebody did
// not answer.
//
// A visit to a port goes through these steps; each ends when all that it asked is answered:
//
//   Info      VirtualizationInfo
//   Enable    ... is set, where virtualization is not as the operator wants it
//   States    VPortState, by blocks
//   Details   VPortInfo and VNodeInfo of those that are up and that something is not known of
//   Keys      with a partition file their P_KeyTables, where not known
//   SetKeys   ... and blocks that differ
//   Rates     with rate limits their QosConfigSL, where not known
//   SetRates  ... and those that differ
//   Activate  VPortInfo of those that wait for a subnet manager
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "libdiag/base/log.h"
#include "libdiag/mad/request.h"
#include "libdiag/wire/virtualization_attributes.h"
#include "sm/device/inventory.h"
#include "sm/device/virtual_ports.h"
#include "sm/plan/desired.h"
#include "sm/plan/sl_rates.h"

namespace sm::core {

struct VPortOptions {
  /// virt_enabled: whether virtualization of ports is left alone, disabled, or enabled and managed.
  enum class Mode : std::uint8_t { Leave, Disable, Enable };
  Mode mode{Mode::Leave};
  std::uint32_t ports_max{64};  // visited at once; 0: no bound
};

/// What a step goes by.
struct VPortSubnet {
  const ib::discover::Observed& seen;
  const plan::Desired& desired;
  const device::Inventory& held;
  const policy::RatePolicy* rates{};  // null: limits are left alone
  bool keeps_p_key_indexes{true};
};

class VPortUpkeep {
 public:
  /// Cookies are `owner` and something in the low 40 bits.
  explicit VPortUpkeep(ib::mad::Cookie owner, VPortOptions options = {})
      : owner_(owner), options_(options) {}

  void set_options(const VPortOptions& options);

  // ---- what calls for a visit
  /// What is under way is left; whose answers are to be waited for no longer.
  [[nodiscard]] std::vector<ib::mad::Cookie> on_sweep_begun();
  /// A sweep ended, and its ports are up. `all`: else those that were not visited to the end, and
  /// the `restarted` ones.
  template <class Restarted>
  void on_swept(const VPortSubnet& subnet, bool all, Restarted restarted);
  void on_trap(const ib::wire::VPortTrap& trap, ib::Lid from, const ib::discover::Observed& seen);
  /// Those who did not answer are asked again.
  void retry();

  // ---- visits
  std::vector<ib::mad::Request> take_requests(const VPortSubnet& subnet);
  void on_completion(const ib::mad::Completion& completion, const VPortSubnet& subnet);
  bool at_rest() const { return due_.empty() && visits_.empty(); }

  /// They are to be managed, and were not looked for yet.
  bool to_come() const { return options_.mode == VPortOptions::Mode::Enable && !looked_; }
  /// What is known; null: nothing, or no port has any.
  const VirtualPortsPtr& known() const { return known_; }
  /// True once after one of these changed, when nothing is under way.
  bool take_news();
  std::optional<ib::LogEvent> next_log();

 private:
  enum class Step : std::uint8_t {
    Info,
    Enable,
    States,
    Details,
    Keys,
    SetKeys,
    Rates,
    SetRates,
    Activate,
    Done
  };
  using Data = std::array<std::byte, ib::wire::kSmpDataBytes>;
  struct Visit {
    ib::fabric::PortRef at;
    Step step{Step::Info};
    std::size_t under_way{0};
    bool failed{false};
    Data info{};  // VirtualizationInfo as answered
    PortVirtualization found;
    std::map<std::uint16_t, Data> vport_info;      // as answered
    std::optional<ib::wire::PortState> own_state;  // of index 0
  };
  /// What a virtual port is known to hold.
  struct Held {
    std::vector<ib::PKey> p_keys;  // as long as its table
    std::set<std::uint16_t> blocks;
    std::optional<Data> rates;
  };
  struct Ask {
    ib::Guid port;
    ib::wire::Method method{};
    std::uint16_t attribute{};
    std::uint32_t modifier{};
  };
  using Visits = std::map<ib::Guid, Visit>;

  void call_for_ports(const VPortSubnet& subnet, bool all,
                      const std::vector<ib::fabric::PortRef>& restarted);
  void begin_visits(const VPortSubnet& subnet);
  void ask(ib::Guid port, Visit& visit, const VPortSubnet& subnet, ib::wire::Method method,
           std::uint16_t attribute, std::uint32_t modifier, const Data* data = nullptr);
  void advance(Visits::iterator at, const VPortSubnet& subnet);
  void end(Visits::iterator at);
  /// True: it is not what was known.
  bool publish(ib::Guid port, std::optional<PortVirtualization> found);

  // ---- steps: what each asks
  void begin_enable(ib::Guid port, Visit& visit, const VPortSubnet& subnet);
  void begin_states(ib::Guid port, Visit& visit, const VPortSubnet& subnet);
  void begin_details(ib::Guid port, Visit& visit, const VPortSubnet& subnet);
  void begin_keys(ib::Guid port, Visit& visit, const VPortSubnet& subnet);
  void begin_set_keys(ib::Guid port, Visit& visit, const VPortSubnet& subnet);
  void begin_rates(ib::Guid port, Visit& visit, const VPortSubnet& subnet);
  void begin_set_rates(ib::Guid port, Visit& visit, const VPortSubnet& subnet);
  void begin_activate(ib::Guid port, Visit& visit, const VPortSubnet& subnet);

  // ---- answers
  void on_answer(const Ask& asked, Visit& visit, const ib::wire::Mad& mad,
                 const VPortSubnet& subnet);
  void on_states(const Ask& asked, Visit& visit, const ib::wire::Mad& mad);
  void on_vport_info(const Ask& asked, Visit& visit, const ib::wire::Mad& mad,
                     const VPortSubnet& subnet);
  void on_keys(const Ask& asked, Visit& visit, const ib::wire::Mad& mad);
  void on_refusal(const Ask& asked, Visit& visit, std::uint16_t status, const VPortSubnet& subnet);

  static VirtualPort* find(PortVirtualization& of_port, std::uint16_t index);
  const VirtualPort* known_of(ib::Guid port, std::uint16_t index) const;
  bool has_twin(ib::Guid guid, ib::Guid port, std::uint16_t index, const VPortSubnet& subnet) const;
  bool may_limit(const Visit& visit, const VPortSubnet& subnet) const;
  void say_once(ib::LogLevel level, const std::string& message);

  ib::mad::Cookie owner_;
  VPortOptions options_;
  std::set<ib::Guid> due_;     // ports to be visited
  std::set<ib::Guid> failed_;  // those whose visit was not answered to the end
  std::set<ib::Guid> twins_;   // those with a GUID that another one has
  std::map<ib::Guid, std::set<std::uint16_t>> changed_;  // indexes that a trap named
  Visits visits_;
  std::map<ib::mad::Cookie, Ask> asked_;
  std::uint32_t last_cookie_{0};
  std::vector<ib::mad::Request> queue_;
  VirtualPortsPtr known_;
  std::map<std::pair<ib::Guid, std::uint16_t>, Held> held_;
  bool news_{false};
  bool swept_{false}, looked_{false};  // ports were called for; all of them were visited
  std::set<std::string> said_;         // what was told of devices, once each
  std::deque<ib::LogEvent> logs_;
};

template <class Restarted>
void VPortUpkeep::on_swept(const VPortSubnet& subnet, bool all, Restarted restarted) {
  std::vector<ib::fabric::PortRef> again;
  const auto& fabric = subnet.seen.fabric;
  if (!all && options_.mode != VPortOptions::Mode::Leave && known_)
    for (const auto& [guid, of_port] : *known_)
      if (const auto at = fabric.find_port_guid(guid); at && restarted(*at)) again.push_back(*at);
  call_for_ports(subnet, all, again);
}

}  // namespace sm::core
