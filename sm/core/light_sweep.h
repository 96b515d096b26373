// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// LightSweep: one question to each switch, to see whether anything changed, and another one where
// it can tell the states of all its ports at once. A machine. A switch that does not answer is
// looked at from its neighbour before anything bigger is started; ports behind which somebody was
// silent, refused or talked nonsense are tried again, and so are kept nodes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "libdiag/discover/observed.h"
#include "libdiag/mad/session.h"
#include "sm/core/flapping.h"
#include "sm/core/port_states.h"
#include "sm/core/sweep_scope.h"

namespace sm::core {

class LightSweep : public ib::mad::Exchange {
 public:
  /// `observed` must outlive this and keep its nodes. `managed` by node. `silent`: what silent()
  /// of the light sweep before said. `kept`: nodes that are in the fabric as they were known
  /// (KeptNodes). `flapping` and `states` must outlive this.
  LightSweep(const ib::discover::Observed& observed, const std::vector<bool>& managed,
             std::set<ib::Guid> silent, const std::vector<ib::Guid>& kept, const Flapping& flapping,
             PortStates& states, ib::mad::Cookie cookie_base);

  std::vector<ib::mad::Request> take_requests() override;
  void on_completion(ib::Instant now, const ib::mad::Completion& completion) override;
  bool done() const override { return started_ && in_flight_.empty() && queue_.empty(); }
  /// What was asked and not answered, for who ends this early.
  const std::set<ib::mad::Cookie>& in_flight() const { return in_flight_; }

  /// Why a sweep is called for, one line each; empty: nothing changed.
  const std::vector<std::string>& changes() const { return changes_; }
  /// Where it is to look; empty: everywhere.
  std::vector<SweepScope::Place> places() const;
  /// Switches that say that no port changed, and show no state that says otherwise.
  const std::vector<ib::Guid>& unchanged() const { return unchanged_; }
  /// Worth a line, and no sweep.
  const std::vector<std::string>& notes() const { return notes_; }
  /// Switches that do not answer though the cable to them is up.
  const std::set<ib::Guid>& silent() const { return silent_; }

 private:
  void ask(unsigned kind, ib::fabric::PortRef at, std::uint16_t attribute,
           const ib::mad::DirectedRoute& route, std::uint64_t target, std::uint32_t modifier);
  void note_change(const std::vector<SweepScope::Place>& places, std::string line);
  std::string name(ib::fabric::PortRef at) const;
  // By what was asked; null: no answer with status 0, or, of on_trouble(), none at all.
  void on_switch(ib::fabric::PortRef at, const ib::wire::Mad* answer);
  void on_states(ib::fabric::PortRef at, const ib::wire::Mad* answer);  // `port`: the block
  void on_neighbour(ib::fabric::PortRef at, const ib::wire::Mad* answer);
  void on_trouble(ib::fabric::PortRef at, const ib::wire::Mad* reply);
  void on_who(ib::fabric::PortRef at, const ib::wire::Mad* answer);
  void on_kept(ib::fabric::PortRef at, const ib::wire::Mad* answer);
  void on_end_port(ib::fabric::PortRef at, const ib::wire::Mad* answer);

  const ib::discover::Observed& observed_;
  const Flapping& flapping_;
  PortStates& states_;
  ib::mad::Cookie cookie_base_;
  std::vector<ib::mad::Request> queue_;
  std::set<ib::mad::Cookie> in_flight_;
  bool started_{false};
  std::map<ib::fabric::PortRef, ib::discover::Trouble> troubles_;  // by where it is asked
  std::vector<std::string> changes_;
  std::vector<SweepScope::Place> places_;
  bool anywhere_{false};  // something changed that no place is known of
  std::vector<ib::Guid> unchanged_;
  std::set<ib::Guid> changed_;  // by the states of their ports
  std::vector<std::string> notes_;
  std::set<ib::Guid> silent_;
};

}  // namespace sm::core
