// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The one answer to each request: counted, kept for when the request is asked again, and sent in
// order. A machine.
#pragma once

#include <span>

#include "sm/sa/intake/outbox.h"
#include "sm/sa/intake/replays.h"
#include "sm/sa/shared.h"

namespace sm::sa {

class Replies {
 public:
  explicit Replies(Shared& shared) : shared_(shared), replays_(shared.options.replays) {}

  /// The request comes back with a status.
  void refuse(const ib::mad::Packet& request, std::uint16_t status);
  void send(const ib::mad::Packet& request, ib::mad::Packet&& answer);
  /// With one record.
  void send_record(const ib::mad::Packet& request, std::span<const std::byte> record);
  /// The answer goes out by RMPP: from here on the transfer knows the request.
  void leave_to_transfer(const ib::mad::Packet& request);

  /// What is no answer: words of RMPP, answers that were sent before.
  void put(ib::mad::Packet&& packet) { outbox_.push(std::move(packet)); }
  ib::mad::Packet* next() { return outbox_.take(); }

  Replays& replays() { return replays_; }
  const Replays& replays() const { return replays_; }

 private:
  Shared& shared_;
  Outbox outbox_;
  Replays replays_;
};

}  // namespace sm::sa
