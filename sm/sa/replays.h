// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Requests that are sent again because an answer was late or lost: the same request, from the same
// LID and QP, with the same TID, method and attribute, is served once. While it is under way it is
// ignored; afterwards it gets the answer that was given, for as long as clients repeat themselves.
// Bounded: reads and writes have a store each, and the oldest go first when one is full.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "libdiag/base/instant.h"
#include "libdiag/mad/transport.h"

namespace sm::sa {

struct ReplayOptions {
  ib::Duration reads_for{std::chrono::seconds(5)};
  ib::Duration writes_for{std::chrono::seconds(30)};
  // An answer is kept in some 400 bytes; 5 s at 10,000 reads a second are 20 MB.
  std::size_t reads_max{49'152};
  std::size_t writes_max{16'384};
};

class Replays {
 public:
  explicit Replays(const ReplayOptions& options = {}) : options_(options) {}

  enum class Seen {
    Never,     // serve it
    UnderWay,  // its answer will come
    Answered   // answer() has it
  };
  Seen look(ib::Instant now, const ib::mad::Packet& request);
  /// The answer given before, addressed to the sender of `request`.
  ib::mad::Packet answer(const ib::mad::Packet& request) const;
  /// The first segment of a message that was answered already: what its sender lacks.
  std::optional<ib::mad::Packet> answer_to_first_segment(const ib::mad::Packet& segment) const;

  /// `request` is served from now on.
  void begin(const ib::mad::Packet& request);
  /// It was answered, once and for all.
  void end(ib::Instant now, const ib::mad::Packet& request, const ib::mad::Packet& answer);
  /// It was not: refused for now, or answered by what is not kept. If it comes again it is new.
  void forget(const ib::mad::Packet& request);

  std::size_t size() const { return entries_.size(); }
  std::size_t subjects() const { return latest_.size(); }

 private:
  struct Key {
    std::uint64_t tid;
    std::uint32_t qpn;
    std::uint16_t lid, attribute;
    std::uint8_t method;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct Entry {
    std::uint64_t first{0}, whole{0};  // fingerprints of the first MAD and of all of the message
    std::uint64_t subject{0};          // of a write: what it is about
    std::uint64_t serial{0};
    ib::Instant until{ib::kNever};  // kNever: under way
    std::array<std::byte, ib::wire::kMadBytes> answer{};
  };
  struct Kept {
    ib::Instant until;
    std::uint64_t serial;
    Key key;
  };

  using Entries = std::unordered_map<Key, Entry, KeyHash>;

  static Key key_of(const ib::mad::Packet& request);
  static bool is_write(const Key& key);
  void expire(ib::Instant now);
  void erase(Entries::iterator entry);
  void drop_oldest(std::deque<Kept>& order);

  ReplayOptions options_;
  Entries entries_;
  std::unordered_map<std::uint64_t, Key> latest_;  // write by subject
  std::deque<Kept> reads_, writes_;                // as answered
  std::uint64_t serial_{0};
};

}  // namespace sm::sa
