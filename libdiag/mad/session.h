// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Session: one Port, its client agents, a Transactor and the clock, for programs that have nothing
// to do but wait: every tool. ibsm and ibtracerd have event loops of their own.
#pragma once

#include <functional>
#include <map>

#include "libdiag/mad/sa_gate.h"
#include "libdiag/mad/transactor.h"

namespace ib::mad {

/// A machine that lives from requests and completions: sweep, path walk, table dump.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// Requests to send now, not too many at a time; called after start and after every completion
  /// until it returns none.
  virtual std::vector<Request> take_requests() = 0;
  virtual void on_completion(Instant now, const Completion& completion) = 0;
  virtual bool done() const = 0;
};

class Session {
 public:
  using Clock = std::function<Instant()>;
  Session(Port& port, const TransactorOptions& options, Clock clock = monotonic_now);

  /// Runs `exchange` until done() or nothing is under way any more.
  Result<void> run(Exchange& exchange);
  /// One request, its answer. Any MAD status counts as an answer.
  Result<Packet> call(Request request);
  /// All requests, completions in the order of `requests`.
  Result<std::vector<Completion>> call_all(std::vector<Request> requests);

  Port& port() { return port_; }
  Transactor& transactor() { return transactor_; }
  /// Congestion control of requests to subnet administration.
  const SaGate& sa_gate() const { return gate_; }

 private:
  Result<AgentId> agent_for(const wire::Mad& mad);
  void submit(Request request);
  Result<void> send(SendOrder order);
  Result<void> send_all();
  void take_sa_limits(Instant now);
  Result<void> pump(const std::function<bool()>& finished,
                    const std::function<void(Completion)>& deliver);

  Port& port_;
  Transactor transactor_;
  SaGate gate_;
  Instant limits_read_{0};  // when the port was last asked for those of the gate
  bool limits_known_{false};
  std::vector<Received> received_;
  Clock clock_;
  std::map<std::uint8_t, AgentId> agents_;  // by management class
};

}  // namespace ib::mad
