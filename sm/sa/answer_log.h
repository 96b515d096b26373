// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Answers that were given, in the order they were given, for as long as they may be asked for
// again. At a hundred thousand answers a second what counts is memory that is touched: entries lie
// one behind the other in blocks, cut to the bytes that are not zero, and are found by a table of
// eight bytes a place; nothing is allocated for a single answer.
//
//   blocks  | oldest ... | ... | ... newest |     a block is given back when its last entry is
//   places  tag of the key -> where its entry lies
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "libdiag/base/instant.h"

namespace sm::sa {

/// What makes a request the same as another: who asked (LID, QP), and its TID, method and
/// attribute.
struct RequestKey {
  RequestKey() = default;
  RequestKey(std::uint64_t tid, std::uint32_t qpn, std::uint16_t lid, std::uint16_t attribute,
             std::uint8_t method);
  friend bool operator==(const RequestKey&, const RequestKey&) = default;

  std::uint64_t tid{};
  std::uint32_t qpn{};
  std::uint32_t tag{};  // a hash of all the others
  std::uint16_t lid{}, attribute{};
  std::uint8_t method{};
};

class AnswerLog {
 public:
  struct Entry {
    RequestKey key;
    std::uint64_t first, whole;  // fingerprints of the first MAD and of all of the message
    std::uint64_t subject;       // of a write: what it is about
    ib::Instant until;
    std::uint16_t bytes;  // of the answer; those behind are zero
    bool current;         // neither erased nor replaced
    bool outdated;        // a write: something newer was said about the same thing
  };
  struct Found {
    const Entry* entry;
    std::span<const std::byte> answer;
  };

  /// Keeps at most `bytes_max` bytes of entries, and one.
  explicit AnswerLog(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Valid until the next call that changes the log.
  Found find(const RequestKey& key) const;
  /// Takes the place of an entry with the same key. `until` never decreases from one to the next.
  void add(const Entry& entry, std::span<const std::byte> answer);
  void erase(const RequestKey& key);
  void mark_outdated(const RequestKey& key);

  /// The entry to leave next; nullptr: the log is empty. It may not be current any more.
  const Entry* oldest() const;
  bool is_over() const { return bytes_ > bytes_max_; }
  void drop_oldest();

  /// Current entries.
  std::size_t size() const { return used_; }

 private:
  static constexpr std::size_t kUnit = 8;  // entries begin at multiples of it
  static constexpr std::uint32_t kBlockUnits = (64U << 10) / kUnit;
  struct Block {
    std::unique_ptr<std::byte[]> bytes;
    std::uint32_t used{0};  // units
  };
  /// Number of the block, counted from the first ever, times kBlockUnits, and the unit in it;
  /// modulo 2^32, which is far more than is kept.
  using Where = std::uint32_t;
  struct Place {
    std::uint32_t tag;  // of its key; also says where the search begins
    Where where;
  };
  static constexpr Where kNowhere = 0xFFFFFFFF;

  Entry* at(Where where) const;
  static std::uint32_t units_of(const Entry& entry);
  std::size_t place_of(const RequestKey& key) const;  // places_.size(): none
  Place& place_for(const RequestKey& key);
  void put_place(std::uint32_t tag, Where where);
  void fetch_place_of_oldest() const;
  void clear_place(std::size_t place);
  void grow();
  std::size_t mask() const { return places_.size() - 1; }

  std::size_t bytes_max_;
  std::deque<Block> blocks_;  // only the last may be empty
  Block spare_;               // the last one given back
  Where first_block_{0};      // where blocks_.front() begins
  std::uint32_t begin_{0};    // unit of the oldest entry in it
  std::size_t bytes_{0};
  std::vector<Place> places_;
  std::size_t used_{0};
};

}  // namespace sm::sa
