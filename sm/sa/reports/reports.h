// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Reports: notices on their way to those who subscribed (IBA 13.4.11). A machine.
//
//   notify() -> inbox -> matched -> queue of each subscriber -> one Report at a time -> ReportResp
//
// A subscriber is an address; what several of its subscriptions are to it is told once. A report
// that nobody acknowledges is repeated a few times; after several such reports the subscriber is
// dead, unless nothing at all was heard meanwhile: then it is our own port, or the switch that it
// hangs from, that is away. Every queue is bounded, and what it loses is counted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "libdiag/mad/transport.h"
#include "sm/sa/registry/change.h"
#include "sm/sa/registry/world.h"

namespace sm::sa {

/// Linux since 6.17 waits for 16 answers to requests of an agent of subnet administration, and
/// keeps back what it sends beyond that: so that reports to subscribers who died do not hold up the
/// others, they go by agents of their own, in turn.
inline constexpr std::size_t kReportAgents = 8;

struct ReportOptions {
  ib::Duration timeout{std::chrono::milliseconds(500)};
  std::uint8_t attempts{4};        // of one report
  std::uint32_t on_wire_max{120};  // reports at once; kReportAgents have places for that many
  unsigned failures_max{3};        // reports in a row without an answer, and the subscriber is dead
  std::size_t inbox_max{8192};     // notices that wait to be matched
  std::size_t queue_max{64};       // reports that wait for one subscriber
  std::size_t queued_max{65'536};  // and for all of them together
};

struct ReportCounters {
  std::uint64_t notices{}, notices_dropped{};  // dropped: the inbox was full
  std::uint64_t sent{}, answered{}, failed{};  // reports; sent counts no retries
  std::uint64_t dropped{};                     // a queue was full
  std::uint64_t dead{};                        // subscribers given up
};

class Reports {
 public:
  explicit Reports(const ReportOptions& options = {});
  ~Reports();
  Reports(Reports&&) noexcept;
  Reports& operator=(Reports&&) noexcept;

  void notify(const Event& event);
  /// An answer to one of our reports; false: it is to none.
  bool on_packet(ib::Instant now, const ib::mad::Packet& packet);
  /// Something has come from another port of the subnet, whatever it is.
  void on_heard(ib::Instant now);
  /// The subscriber there has said something: what it did not answer so far is not held
  /// against it.
  void on_sign_of_life(const ib::mad::Address& subscriber);
  void on_time(ib::Instant now);
  /// Matches notices and moves reports on, a bounded part of them; call again when the deadline
  /// says so.
  void step(ib::Instant now, const World& world);
  ib::Instant next_deadline() const;

  std::optional<ib::mad::Packet> next_send(ib::Instant now);
  /// How long the transport is to wait for the answer to the last of them.
  ib::Duration reply_within() const;
  /// A subscriber that does not answer any more. Its queue is gone; its subscriptions are the
  /// caller's to remove.
  std::optional<ib::mad::Address> next_dead();

  const ReportCounters& counters() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The Report MAD of an event, without its TID.
ib::wire::Mad report_mad(const Event& event);

}  // namespace sm::sa
