// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Transactor: turns requests into sends, retries and completions. A machine: no I/O, no clock, no
// thread. VL15 has no flow control, so the window per target and in all is part of correctness, not
// of speed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "libdiag/mad/request.h"

namespace ib::mad {

struct TransactorOptions {
  std::uint32_t window_per_target{4};  // unanswered MADs per target, at most
  std::uint32_t window{256};  // unanswered MADs in all; adapts below this on congestion (`-n`)
  /// MADs whose answer the transport waits for at a time, lost ones among them; 0: any number.
  /// Linux since 6.17 has 128 places for an agent of SMPs and keeps back what is sent beyond; it
  /// empties them some milliseconds late.
  std::uint32_t awaited_most{120};
  std::uint32_t awaited_of_sa{16};  // of these for an agent of subnet administration
  std::uint32_t sa_outstanding{0};  // unanswered requests to subnet administration; 0: as others
  Duration timeout_start{std::chrono::milliseconds(50)};
  Duration timeout_floor{std::chrono::milliseconds(10)};
  Duration timeout_ceiling{
      std::chrono::milliseconds(200)};  // back-off doubles up to at least this (`-t`)
  std::uint8_t attempts_min{8};         // before a target that never answered is given up
  std::uint8_t attempts_known{12};  // and one that has: more of them is a matter of luck with loss
  std::uint32_t tid_seed{1};
};

struct TransactorCounters {
  std::uint64_t requests{};
  std::uint64_t sends{};             // retries included
  std::uint64_t retries{};           //
  std::uint64_t spurious_retries{};  // an earlier attempt was answered after all
  std::uint64_t replies{};           // requests answered
  std::uint64_t late_replies{};      // answers to attempts whose request was complete
  std::uint64_t strange_replies{};   // our TID, but another class, attribute or kind of method
  std::uint64_t timeouts{};          // requests given up
};

/// A MAD to hand to the transport; `reply_within` covers every later attempt too, so that a late
/// answer is not lost.
struct SendOrder {
  Address address;
  wire::Mad mad;
  std::vector<std::byte> more;
  Duration reply_within{};
  std::uint32_t repeats{0};  // TID of the attempt before this one; 0: it is the first
};

class Transactor {
 public:
  explicit Transactor(const TransactorOptions& options = {});
  ~Transactor();
  Transactor(Transactor&&) noexcept;
  Transactor& operator=(Transactor&&) noexcept;

  /// Queues a request. Requests to one target are sent in the order they were submitted.
  void submit(Instant now, Request request);

  /// An answer arrived. False: it belongs to none of ours (unsolicited, or too late).
  bool on_packet(Instant now, const Packet& packet);

  /// The transport refused `order` for good (bad address, no such P_Key): its request completes
  /// with `error`.
  void on_send_failed(const SendOrder& order, Error error);

  /// `order` waits no longer to be sent, and was not (SaGate): its request is repeated when its
  /// time comes, and the error it may end with says so.
  void on_held_back(const SendOrder& order);

  /// Whether the request of `order` has no answer yet.
  bool wants(const SendOrder& order) const;

  /// Of TransactorOptions, from now on.
  void set_sa_outstanding(std::uint32_t most);

  /// Time has come to `now`: retries and timeouts fall due.
  void on_time(Instant now);

  /// When on_time is to be called next; kNever when nothing is under way.
  Instant next_deadline() const;

  /// Effects. Each call moves out what has accumulated since the last; empty when there is none.
  std::optional<SendOrder> next_send(Instant now);
  std::optional<Completion> next_completion();

  /// Forgets a request that has no completion yet; none will come.
  void cancel(Cookie cookie);

  using Choice = std::function<bool(Cookie)>;
  /// Whether every request that waits and that is `chosen` is to a target that has fallen silent.
  bool waits_for_the_silent(const Choice& chosen) const;
  /// Completes these at once, as not answered.
  void give_up(Instant now, const Choice& chosen);

  std::size_t outstanding() const;  // on the wire and not presumed lost
  std::size_t pending() const;      // on the wire and queued
  const TransactorCounters& counters() const;
  std::uint32_t window() const;  // the present one

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ib::mad
