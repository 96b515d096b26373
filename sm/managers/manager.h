// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Manager: what works beside the sweep by asking devices over QP1: congestion control,
// performance. A machine: the subnet, answers and time go in; requests and log lines come out. It
// has no I/O and no clock, and nothing it does holds up the subnet manager.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/log.h"
#include "libdiag/mad/request.h"
#include "sm/device/snapshot.h"

namespace sm::managers {

class Manager {
 public:
  Manager() = default;
  virtual ~Manager() = default;
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  /// The classes it asks by, each with its version; no methods, since it serves none.
  virtual std::vector<ib::mad::AgentSpec> agents() const = 0;

  // ---- events
  /// A full sweep has ended with SUBNET UP, or with SUBNET INCOMPLETE: what `subnet` has ACTIVE can
  /// be asked. Never null. What is still under way of the time before is answered as ever.
  virtual void on_subnet_up(ib::Instant now, const SnapshotPtr& subnet) = 0;
  /// Another one is master, or nobody; a sweep found this. For who only reads; `master`: where it
  /// is, for a message, or empty.
  virtual void on_watched(ib::Instant now, const SnapshotPtr& subnet, const std::string& master) {
    (void)now, (void)subnet, (void)master;
  }
  /// The end of one of its requests: the answer, whatever its status, or that there is none.
  virtual void on_completion(ib::Instant now, const ib::mad::Completion& completion) = 0;
  virtual void on_time(ib::Instant now) { (void)now; }
  /// When on_time() is to be called; kNever: it waits for answers or for a sweep.
  virtual ib::Instant next_deadline() const { return ib::kNever; }

  // ---- effects
  /// Requests to be sent now, at most `most` of them; it is asked again when answers have come.
  /// Cookies are its own, below kCookiesEnd.
  virtual std::vector<ib::mad::Request> take_requests(ib::Instant now, std::size_t most) = 0;
  /// Lines for the log since the last call.
  virtual std::vector<ib::LogEvent> take_log() = 0;
  /// How many of its requests may be under way or queued at a time, at least 1.
  virtual std::size_t requests_most() const { return 256; }
  /// Nothing is under way that `ibsm --once` should wait for.
  virtual bool idle() const = 0;
};

inline constexpr ib::mad::Cookie kCookiesEnd = ib::mad::Cookie{1} << 56;

}  // namespace sm::managers
