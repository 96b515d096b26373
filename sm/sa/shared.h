// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the parts of the server have in common: what requests are judged by, the operator's options,
// what is counted and said, and the queues, which go on where a part has room again.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "libdiag/base/instant.h"
#include "libdiag/base/log.h"
#include "libdiag/mad/transport.h"
#include "sm/sa/counters.h"
#include "sm/sa/intake/admission.h"
#include "sm/sa/options.h"
#include "sm/sa/registry/change.h"
#include "sm/sa/registry/world.h"

namespace sm::sa {

struct Shared {
  Shared(const Options& options, const store::Contents& contents);
  Shared(const Shared&) = delete;  // `world` names what is in here
  Shared& operator=(const Shared&) = delete;

  Options options;
  State state;
  Policy policy;
  World world;
  Counters counters;
  Admission admission;
  ib::Instant now;  // of the event that is being dealt with

  bool is_trusted(const ib::mad::Packet& request) const;
  Requester requester_of(const ib::mad::Packet& request) const;
  /// All LIDs of a port are one requester: its first.
  ib::Lid who_of(const ib::mad::Packet& request) const;

  void say(ib::LogLevel level, std::string line, std::optional<ib::LogCause> cause = {});
  /// A line about what `request` was refused for; what is empty is no news.
  void complain(const ib::mad::Packet& request, const std::string& why);
  std::optional<ib::LogEvent> next_log();

 private:
  std::deque<ib::LogEvent> log_;
};

}  // namespace sm::sa
