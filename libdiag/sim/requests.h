// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Requests: what a HostKernel has under way, found by transaction, in the order they were made, and
// by when they fall due. In a storm there is one for every MAD, so places are used again and
// nothing is allocated or left behind for a single request. Private to libdiag/sim.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "libdiag/base/instant.h"
#include "libdiag/mad/rmpp.h"
#include "libdiag/sim/kernel.h"

namespace ib::sim {

struct Agent;

struct TransactionKey {
  std::uint64_t tid;
  std::uint8_t mgmt_class;
  friend bool operator==(const TransactionKey&, const TransactionKey&) = default;
};

class Requests {
 public:
  /// A place, and what stands in it until erase().
  using Id = std::uint32_t;
  static constexpr Id kNone = 0xFFFFFFFF;

  struct Request {
    Agent* agent{};
    bool answer{};      // what was sent is itself an answer
    bool controlled{};  // counts among the answers its agent waits for
    bool waits{};       // not sent yet: the agent, or the port, waits for too many
    bool congested{};   // MAD congestion control of the port counts it
    std::uint32_t retries_left{};
    UserMad mad;
    std::unique_ptr<mad::rmpp::Sender> sender;  // while a long message is on its way
  };

  /// A request without a deadline; it stays where it is.
  Id add(TransactionKey key);
  Request& at(Id id) { return places_[id].request; }
  const Request& at(Id id) const { return places_[id].request; }
  void erase(Id id);
  template <class Predicate>
  void erase_if(Predicate&& is_meant);

  /// The first that was made of this transaction and is meant; kNone.
  template <class Predicate>
  Id find(TransactionKey key, Predicate&& is_meant) const;

  /// kNever: it does not fall due. As in Linux those that do stand in a list, where one with the
  /// usual timeout belongs at the end; what is due sooner passes by those that are due later.
  void set_deadline(Id id, Instant at);
  Instant next_deadline() const { return first_due_ == kNone ? kNever : places_[first_due_].due; }
  /// The one with the next deadline, of several with the same the one that got it first.
  Id next_due() const { return first_due_; }

 private:
  struct Place {
    Request request;
    TransactionKey key{};
    Id next{kNone};  // of the same bucket, or of the free places
    Instant due{kNever};
    Id previous_due{kNone}, next_due{kNone};  // of those that fall due
    bool used{false};
  };

  std::size_t bucket_of(TransactionKey key) const {
    const std::uint64_t hash =
        (key.tid ^ (std::uint64_t{key.mgmt_class} << 56)) * 0x9E3779B97F4A7C15ULL;
    return static_cast<std::size_t>(hash >> 32) & (buckets_.size() - 1);
  }
  static void fetch(const Place& place);
  void append(Id id);
  void grow();
  void forget_deadline(Place& place);

  std::deque<Place> places_;  // they never move
  Id free_{kNone};
  std::uint32_t used_{0};
  std::vector<Id> buckets_;  // the first of each
  Id first_due_{kNone}, last_due_{kNone};
};

template <class Predicate>
void Requests::erase_if(Predicate&& is_meant) {
  for (Id id = 0; id < places_.size(); ++id)
    if (places_[id].used && is_meant(places_[id].request)) erase(id);
}

template <class Predicate>
Requests::Id Requests::find(TransactionKey key, Predicate&& is_meant) const {
  if (used_ == 0) return kNone;
  for (Id id = buckets_[bucket_of(key)]; id != kNone; id = places_[id].next)
    if (places_[id].key == key && is_meant(places_[id].request)) return id;
  return kNone;
}

}  // namespace ib::sim
