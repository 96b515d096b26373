// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Check: who judges a whole system by one invariant or a few. Checks look at devices, at what
// clients were told and at what subnet managers say; what ibsm's planner thinks of anything is no
// argument here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "libdiag/base/instant.h"
#include "libdiag/base/log.h"
#include "libdiag/fabric/fabric.h"
#include "libdiag/wire/mad.h"
#include "sm/core/report.h"

namespace sm::core {
struct Outgoing;
}

namespace soak {

class System;
struct Seat;

/// What is wrong: the invariant as doc/soak.md numbers it, and a sentence.
struct Finding {
  std::string invariant;
  std::string what;
  ib::Instant at{};
};

class Check {
 public:
  virtual ~Check() = default;
  /// A device took a Set; `answer` has what it holds now.
  virtual void on_set(System&, ib::fabric::PortRef at, const ib::wire::Mad& answer) {
    (void)at, (void)answer;
  }
  /// A subnet manager sends an SMP.
  virtual void on_send(System&, Seat&, const sm::core::Outgoing& out) { (void)out; }
  virtual void on_report(System&, Seat&, const sm::core::Report& report) { (void)report; }
  /// A subnet manager writes a line into its log.
  virtual void on_line(System&, Seat&, const ib::LogEvent& event) { (void)event; }
  /// Something was delivered, or somebody did something.
  virtual void on_step(System&) {}
  /// A cable, a node or a subnet manager was touched.
  virtual void on_event(System&) {}
  /// Faults are over, and everybody has done what is to be done.
  virtual void on_settled(System&) {}
  /// Nothing has happened since then for some light sweeps.
  virtual void on_end(System&) {}
};

using Checks = std::vector<std::unique_ptr<Check>>;
/// All of them.
Checks make_checks();

// One or a few of them a file.
std::unique_ptr<Check> make_reach_check();         // I1
std::unique_ptr<Check> make_loop_check();          // I3
std::unique_ptr<Check> make_credit_loop_check();   // I2
std::unique_ptr<Check> make_lid_check();           // I4, I5
std::unique_ptr<Check> make_port_check();          // I6
std::unique_ptr<Check> make_tree_check();          // I7
std::unique_ptr<Check> make_registration_check();  // I8
std::unique_ptr<Check> make_p_key_check();         // I9
std::unique_ptr<Check> make_master_check();        // I10
std::unique_ptr<Check> make_truth_check();         // I11
std::unique_ptr<Check> make_bound_check();         // I12
std::unique_ptr<Check> make_answer_check();        // I14
std::unique_ptr<Check> make_quiet_check();         // I18

}  // namespace soak
