// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// TrapLook: whether traps are true. A machine. A trap costs one Get, or few more, at the port or
// switch that sent it, by its known path; only what really changed leads on to a sweep. Whose traps
// name nothing that changed is held down, alone: they are repressed, and nobody looks.
//
//   of a switch    SwitchInfo: PortStateChange says whether a port changed. Where one of its links
//                  is held down, or a sweep was under way when the trap came (which may have read
//                  the port before, and cleared the bit after), its ports are read as well. So they
//                  are where it says nothing, since another master may have cleared the bit: once
//                  in 10 s each, and of few switches at a time. One that has a table of the
//                  states of its ports is asked for that.
//   of a CA        PortInfo, NodeDescription or NodeInfo against what the sweep saw
//   no answer      by the known path, though the trap came: the path has changed
//
// All of a sender's traps that wait are one look. What is remembered is one record for each port
// of the fabric that sent traps not long ago, whatever it sent.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "libdiag/base/log.h"
#include "libdiag/mad/request.h"
#include "sm/core/flapping.h"
#include "sm/core/sweep_scope.h"
#include "sm/core/trap_claim.h"

namespace sm::core {

class TrapLook {
 public:
  /// Cookies are `owner` and something in the low 40 bits.
  /// `pause`: between two looks at one sender, and from a trap to the sweep that it calls for, so
  /// that what belongs together comes together.
  TrapLook(ib::mad::Cookie owner, ib::Duration pause);

  /// `sweeping`: a sweep or what follows from it is under way; the look begins when it has ended.
  void on_trap(ib::Instant now, ib::Lid from, const ib::wire::Notice& notice,
               const ib::discover::Observed& seen, bool sweeping);

  /// When looks begin, or one has waited for long enough; kNever.
  ib::Instant due() const;
  /// Begins looks that are due. Ends those that nobody answers; their requests are to be cancelled.
  std::vector<ib::mad::Cookie> on_time(ib::Instant now, const ib::discover::Observed& seen,
                                       Flapping& flapping);
  std::vector<ib::mad::Request> take_requests();
  void on_completion(ib::Instant now, const ib::mad::Completion& completion,
                     const ib::discover::Observed& seen, Flapping& flapping);
  /// A full sweep begins and looks at everything. Requests that are to be cancelled.
  std::vector<ib::mad::Cookie> on_sweep_begun();
  /// One begins that looks at some places: looks that are under way begin again when it has ended.
  std::vector<ib::mad::Cookie> on_partial_sweep_begun();

  /// A trap that is worth a look came and nobody has looked yet.
  bool waiting() const;
  /// Switches that said so of their links, and nobody has looked yet.
  std::size_t switches_waiting() const;
  /// A look is under way, and may set a SwitchInfo that no other Set is to cross.
  bool busy() const { return !looks_.empty(); }

  /// When a sweep is called for; once for each change.
  std::optional<ib::Instant> take_sweep_wanted();
  /// Where it is to look.
  std::vector<SweepScope::Place> take_places();
  /// NodeDescriptions that are not as they were known, by node.
  std::map<ib::Guid, std::string> take_renamed();
  /// The sender of traps is not known: a light sweep may tell.
  bool take_light_sweep_wanted();
  std::optional<ib::LogEvent> next_log();

 private:
  using Kind = TrapClaim::Kind;
  struct Sender {
    HoldDown hold;
    ib::Lid lid{};
    std::set<Kind> wanted;  // what its traps that wait call for
    bool during_sweep{false};
    ib::Instant since{0};  // the first of these came
    ib::Instant not_before{0};
    ib::Instant ports_not_before{0};  // of a switch, where nothing calls for it but the trap
  };
  enum class Ask : std::uint8_t {
    SwitchInfo,
    ClearChange,  // PortStateChange, before the ports are read
    SwitchPort,
    PortStates,  // of all ports at once, a block
    PortInfo,
    Description,
    NodeInfo
  };
  struct Look {
    ib::fabric::PortRef at;  // the sender
    std::set<Kind> wanted;
    ib::Instant since{0}, until{0};
    bool during_sweep{false};  // a trap came while a sweep read this switch
    bool says_change{false};   // PortStateChange is set
    bool changed{false};       // something that matters
    bool renamed{false};       // NodeDescription did, which calls for no sweep
    bool failed{false};        // it gave no answer, or a refusal
    std::map<ib::mad::Cookie, std::pair<Ask, std::uint8_t>> asked;  // with the port
  };
  using Looks = std::map<ib::Guid, Look>;

  Sender& sender_of(ib::Instant now, ib::Guid port_guid);
  bool is_there_still(Looks::iterator it, const ib::discover::Observed& seen);
  void begin(ib::Instant now, ib::Guid guid, Sender& sender, const ib::discover::Observed& seen);
  void ask(Look& look, Ask what, std::uint8_t port, const ib::discover::Observed& seen,
           const std::byte* to_set = nullptr);
  void on_answer(ib::Instant now, Look& look, Ask what, std::uint8_t port,
                 const ib::wire::Mad& answer, const ib::discover::Observed& seen,
                 const Flapping& flapping);
  bool may_read_ports(ib::Instant now, ib::Guid sender);
  /// All but those that are held down: what changes there is of no interest.
  void read_ports(Look& look, const ib::discover::Observed& seen, const Flapping& flapping);
  void read_each_port(Look& look, const ib::discover::Observed& seen, const Flapping& flapping);
  void end(ib::Instant now, Looks::iterator look, const ib::discover::Observed& seen,
           Flapping& flapping);
  /// Requests that are to be cancelled.
  std::vector<ib::mad::Cookie> leave_looks();
  void strike(ib::Instant now, ib::Guid guid, Sender& sender);

  ib::mad::Cookie owner_;
  ib::Duration pause_;
  std::map<ib::Guid, Sender> senders_;  // by port GUID; 0: those whom nobody knows
  Looks looks_;                         // under way, by sender
  HoldDown readings_;                   // of all ports of a switch, for a trap alone
  std::uint32_t last_cookie_{0};
  std::vector<ib::mad::Request> queue_;
  std::optional<ib::Instant> sweep_wanted_;
  std::vector<SweepScope::Place> places_;
  std::map<ib::Guid, std::string> renamed_;
  bool light_sweep_wanted_{false};
  std::deque<ib::LogEvent> logs_;
};

}  // namespace sm::core
