// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// OwnPort: keeps the subnet manager's own port as it should be. While there are no keys any host
// can set its LID, its P_Keys or an M_Key, and with that end subnet administration for everybody.
// A machine: the port is asked when somebody says so, compared, and put right at once.
//
//   Resting   nothing asked; due() says when, if it was called for
//   Asking    PortInfo, and the blocks of P_Keys that hold some
//   Repairing a Set for each that differs
//
// What P_Keys are right is what the plan says; where it says nothing, what the port held when it
// was first looked at, and the default one with full membership, without which nobody's query is
// answered.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libdiag/base/log.h"
#include "libdiag/mad/request.h"
#include "sm/plan/desired.h"

namespace sm::core {

/// Whether a notice of a wrong P_Key or Q_Key (traps 257, 258, 259) is about packets to `lid`:
/// whose port it is may have lost its keys.
bool concerns(const ib::wire::Notice& notice, ib::Lid lid);

class OwnPort {
 public:
  /// Cookies are `owner` and something in the low 40 bits.
  explicit OwnPort(ib::mad::Cookie owner) : owner_(owner) {}

  /// The port is to be looked at, a little after the last time at the earliest.
  void call_for(ib::Instant now);
  /// When a look begins; kNever: none is called for, or one is under way.
  ib::Instant due() const { return busy() ? ib::kNever : due_; }
  void begin(ib::Instant now, const ib::discover::Observed& seen, const plan::Desired& desired);
  std::vector<ib::mad::Request> take_requests();
  void on_completion(const ib::mad::Completion& completion);
  bool busy() const { return under_way_ > 0; }
  /// It was looked at once, so that a change can be seen.
  bool is_known() const { return learnt_; }

  /// True once after the port turned out to be in another state than it was: only a full sweep
  /// brings it up again.
  bool take_sweep_wanted();
  /// The LID of another subnet manager that somebody told this port of, be it ours, where it has
  /// got another one; once.
  std::optional<ib::Lid> take_other_master() { return std::exchange(other_master_, std::nullopt); }
  std::optional<ib::LogEvent> next_log();

 private:
  struct Question {
    ib::wire::Method method;
    std::uint16_t attribute;
    std::uint16_t modifier;
  };
  void take_wanted(const plan::Desired& desired);
  void ask(Question question, const std::byte* data = nullptr);
  void on_port_info(const ib::wire::Mad& answer);
  void on_p_keys(std::uint16_t block, const ib::wire::PKeyTable& held);
  void learn(std::uint16_t block, const ib::wire::PKeyTable& held);
  void require_default_p_key();
  void set_p_keys(std::uint16_t block);
  void on_set(Question question, const ib::mad::Completion& completion);
  bool is_as_wanted(Question question, const ib::wire::Mad& answer) const;
  void alarm(std::string message);

  ib::mad::Cookie owner_;
  ib::Instant due_{ib::kNever};
  ib::Instant not_before_{0};
  std::size_t under_way_{0};
  std::vector<ib::mad::Request> queue_;

  ib::Guid node_{};
  std::string name_;
  std::uint8_t port_{};
  plan::PortWant want_;
  ib::wire::PortState state_{};  // as the last sweep left it
  std::uint64_t m_key_{0};       // as the port last showed it: somebody's, who set one
  std::size_t blocks_{0};        // that the table of P_Keys has
  bool learnt_{false};
  std::vector<ib::wire::PKeyTable> p_keys_;           // by block, up to the first empty one
  std::map<std::uint32_t, std::string> differences_;  // found, by attribute and modifier
  bool sweep_wanted_{false};
  std::optional<ib::Lid> other_master_;
  std::deque<ib::LogEvent> logs_;
};

}  // namespace sm::core
