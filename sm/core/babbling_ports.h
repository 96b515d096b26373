// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// BabblingPorts: ports that send the same urgent trap (129 to 131: errors of their link) over and
// over, and what the operator's policy says of them. A machine. By the rule of opensm's
// babbling_port_policy the link of a port that did so 250 times is disabled, at the end that is
// nearer to the subnet manager, where it can be enabled again; the subnet manager's own link never
// is. Nothing enables it but the operator.
//
//   trap --250th--> Disable:  Get(PortInfo), Set(PortInfo) with PortPhysicalState Disabled
//   operator -----> Enable:   Get(PortInfo), Set(PortInfo) with PortPhysicalState Polling
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "libdiag/base/log.h"
#include "libdiag/mad/request.h"
#include "sm/core/trap_claim.h"

namespace sm::core {

class BabblingPorts {
 public:
  /// Traps before the link is disabled, where none is as long apart as the first time or, once it
  /// is noisy, the second.
  static constexpr unsigned kFlood = 250, kNoisy = 10;
  static constexpr ib::Duration kApart = std::chrono::seconds(5);
  static constexpr ib::Duration kApartWhenNoisy = std::chrono::seconds(60);

  /// Cookies are `owner` and something in the low 40 bits.
  explicit BabblingPorts(ib::mad::Cookie owner) : owner_(owner) {}

  /// A trap, and what claim_of() makes of it: a forged one counts for nobody.
  void on_trap(ib::Instant now, const ib::wire::Notice& notice, const TrapClaim& claim,
               const ib::discover::Observed& seen);
  /// This port of this node is enabled again, if it is disabled.
  void enable(ib::fabric::PortRef at, const ib::discover::Observed& seen);

  std::vector<ib::mad::Request> take_requests() { return std::exchange(queue_, {}); }
  void on_completion(const ib::mad::Completion& completion, const ib::discover::Observed& seen);
  std::optional<ib::LogEvent> next_log();

 private:
  using Source = std::tuple<ib::Guid, std::uint8_t, std::uint16_t>;  // node, port, trap
  struct Count {
    unsigned traps{0};
    ib::Instant last{0};
    bool is_over(ib::Instant now) const {
      return now - last > (traps < kNoisy ? kApart : kApartWhenNoisy);
    }
  };
  struct Order {
    ib::Guid node;
    std::uint8_t port{};
    bool enable{false};
    bool is_set{false};   // the Set is under way, else the Get
    std::string name;     // of the port
    std::string because;  // whose traps disable it
  };

  void disable(ib::fabric::PortRef source, std::uint16_t trap_number,
               const ib::discover::Observed& seen);
  void ask(Order order, const ib::discover::Observed& seen, const std::byte* to_set = nullptr);
  void say(ib::LogLevel level, std::string message);

  ib::mad::Cookie owner_;
  std::map<Source, Count> counts_;           // of those that sent some not long ago
  std::map<ib::mad::Cookie, Order> orders_;  // under way
  std::uint32_t last_cookie_{0};
  std::vector<ib::mad::Request> queue_;
  std::deque<ib::LogEvent> logs_;
};

}  // namespace sm::core
