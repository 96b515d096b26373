// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Requests that read, from the question to the last segment of the answer: what waits for the
// tables of devices, what is being looked for, what is on its way. A machine.
//
//   begin() -> [TablesWait] -> open_query() -> a step of looking -> a single answer
//                                  |                    |---------> Transfers, segment by segment
//                                  |--> refused         |---------> Searches: it takes longer
#pragma once

#include <optional>

#include "sm/sa/intake/searches.h"
#include "sm/sa/intake/tables_wait.h"
#include "sm/sa/intake/transfers.h"
#include "sm/sa/replies.h"
#include "sm/sa/shared.h"

namespace sm::sa {

class Reads {
 public:
  Reads(Shared& shared, Replies& replies) : shared_(shared), replies_(replies) {}

  /// Whether there is room for what serving `request`, which `who` sent, leaves behind.
  bool may_begin(ib::Lid who, const ib::mad::Packet& request) const;
  void begin(const ib::mad::Packet& request);
  /// The tables of devices that requests waited for are known.
  void tables_are_read() { tables_wait_.release(); }

  /// Answers one of those that have waited for tables; false: none has.
  bool answer_waiting();
  /// Whether records are being looked for.
  bool is_looking() const { return !searches_.empty() || transfers_.is_short(); }
  void continue_one_search();
  bool has_work() const { return is_looking() || tables_wait_.has_next(); }

  /// Whether the answer to `request` is on its way already.
  bool is_under_way(const ib::mad::Packet& request);
  /// ACK, STOP or ABORT; false when it belongs to no table under way.
  bool on_control(ib::Instant now, const ib::mad::Packet& packet);
  std::optional<ib::mad::Packet> next_segment(ib::Instant now);
  void on_time(ib::Instant now);
  ib::Instant next_deadline() const;

  const Transfers::Counters& counters() const { return transfers_.counters(); }

 private:
  void answer(const ib::mad::Packet& request);
  void answer_get(const ib::mad::Packet& request);
  void begin_table(const ib::mad::Packet& request);
  void begin_search(const ib::mad::Packet& request, std::unique_ptr<RecordSource> source,
                    std::size_t bytes_max);
  void finish(const ib::mad::Packet& request, Searches::Search& search);
  void finish_get(const ib::mad::Packet& request, const Searches::Search& search);
  void send_table(const ib::mad::Packet& request, Searches::Search& search);
  void send_whole(const ib::mad::Packet& request, ib::mad::Packet answer,
                  const Searches::Search& search);
  void refuse(const ib::mad::Packet& request, const Query& query, std::uint16_t status);
  Query query_of(const ib::mad::Packet& request) const;

  Shared& shared_;
  Replies& replies_;
  TablesWait tables_wait_;
  Searches searches_;
  Transfers transfers_;
  bool for_transfers_{false};  // the last step of looking was for a table that is being sent
  std::vector<std::byte> found_room_;  // for the next search
};

}  // namespace sm::sa
