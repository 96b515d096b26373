// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SaGate: a Session's requests to subnet administration on their way to the port, by
// SaCongestion. It knows which of them have no answer yet; a repetition has the place of what it
// repeats. A machine: no I/O, no clock.
#pragma once

#include <optional>
#include <unordered_map>

#include "libdiag/mad/sa_congestion.h"
#include "libdiag/mad/transactor.h"

namespace ib::mad {

class SaGate {
 public:
  static bool is_for(const wire::Mad& mad) {
    return mad.mgmt_class() == wire::MgmtClass::SubnAdm && !wire::is_response(mad.method());
  }

  const SaLimits& limits() const { return congestion_.limits(); }
  void set_limits(const SaLimits& limits) { congestion_.set_limits(limits); }
  bool is_idle() const { return congestion_.is_idle(); }

  /// One order more. It comes out of next_send(), or of next_refused(), and from neither while it
  /// waits.
  void submit(Instant now, SendOrder order);
  std::optional<SendOrder> next_send(Instant now);
  /// What found the queue full, or waited too long, and was not sent.
  std::optional<SendOrder> next_refused(Instant now);

  /// The answer to a request came, or the transport no longer waits for it.
  void on_answer(const wire::Mad& mad) { finish(low(mad)); }

  /// When next_send() or next_refused() is to be asked again; kNever: not by time.
  Instant next_deadline() const;

  std::size_t outstanding() const { return congestion_.outstanding(); }
  std::uint64_t drops() const { return congestion_.drops(); }
  std::uint64_t expired() const { return congestion_.expired(); }

 private:
  // The kernel has the upper half of a TID for itself.
  using Tid = std::uint32_t;
  static Tid low(const wire::Mad& mad) { return static_cast<Tid>(mad.tid().value); }
  void finish(Tid tid);
  void forget_unanswered(Instant now);
  SendOrder send(Instant now, SendOrder order);

  SaCongestion<SendOrder> congestion_;
  std::optional<SendOrder> first_, refused_;  // of the last submit()
  /// Sent and not answered, by the TID of the last attempt: until when an answer is waited for.
  std::unordered_map<Tid, Instant> unanswered_;
  std::unordered_map<Tid, Tid> repeated_as_;  // earlier attempts of these
};

}  // namespace ib::mad
