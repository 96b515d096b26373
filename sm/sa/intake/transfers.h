// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Tables on their way to clients: one RMPP sender each (IBA 13.6). A machine: ACKs and time go in,
// segments come out, made as they are fetched. A table holds no more than a window of segments, and
// what was made beforehand to learn whether it is short. Records are looked for a few candidates at
// a time.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "libdiag/base/instant.h"
#include "libdiag/mad/rmpp.h"
#include "sm/sa/records/record_source.h"

namespace sm::sa {

class Transfers {
 public:
  struct Counters {
    std::uint64_t begun{}, aborted{}, segments{}, segments_resent{};
  };

  Transfers();
  ~Transfers();

  std::size_t size() const;
  /// How much room they take: a table one place, eight answers of one segment, of which there is
  /// only an ACK to be awaited, one together.
  std::size_t places() const;
  /// Those of one requester.
  std::size_t places_of(ib::Lid who) const;
  /// Whether the answer to this request is under way. What is, under the same TID, the answer to
  /// another question is given up: its asker has turned to this one.
  bool has(const ib::mad::Packet& request);

  /// Begins to send. `who` asked, by his first LID; `question` is the fingerprint of the request;
  /// `head` is the answer without records; `ready` its first records. `source` makes the rest; null
  /// when `ready` is all there is.
  void begin(ib::Lid who, std::uint64_t question, const ib::mad::Packet& head,
             std::vector<std::byte> ready, std::shared_ptr<RecordSource> source);
  /// ACK, STOP or ABORT; false when it belongs to no table under way.
  bool on_mad(ib::Instant now, const ib::mad::Packet& packet);
  void on_time(ib::Instant now);
  ib::Instant next_deadline() const;
  /// The next segment of one table after the other, or a word that ends one.
  std::optional<ib::mad::Packet> next_send(ib::Instant now);

  /// Whether a table waits for records that take long to find.
  bool is_short() const { return !short_.empty(); }
  /// Looks on for one of them.
  void step();

  const Counters& counters() const { return counters_; }

 private:
  struct Transfer;
  using List = std::list<Transfer>;

  struct Place {
    List* list;
    List::iterator transfer;
  };

  static bool provide(Transfer& transfer, std::size_t& candidates);
  static bool is_same(const Transfer& transfer, const ib::mad::Packet& packet);
  std::optional<Place> find(const ib::mad::Packet& packet);
  void settle(ib::Instant now, Place place);
  void count(Transfer& transfer);
  ib::mad::Packet give_up(List::iterator transfer);

  List speaking_, waiting_;                 // may have segments to send; wait for an ACK
  List short_;                              // would have, were the next records found
  std::size_t singles_{0};                  // answers of one segment among them
  std::deque<ib::mad::Packet> last_words_;  // of tables that ended
  std::unordered_map<ib::Lid, ib::mad::RoundTrip> round_trips_;  // how long ACKs took
  Counters counters_;
};

}  // namespace sm::sa
