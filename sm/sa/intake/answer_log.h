// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Answers that were given, in the order they were given, for as long as they may be asked for
// again. At a hundred thousand answers a second what counts is memory that is touched: entries lie
// one behind the other in blocks, cut to what has to be kept, and are found by a table of eight
// bytes a place; nothing is allocated for a single answer.
//
//   blocks  | oldest ... | ... | ... newest |     a block is given back when its last entry is
//   places  tag of the key -> where its entry lies
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "libdiag/base/fetch.h"
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
  /// What is to be known of an answer.
  struct Note {
    RequestKey key;
    std::uint64_t first{}, whole{};  // fingerprints of the first MAD and of all of the message
    std::uint64_t subject{};         // of a write: what it is about; else 0
    ib::Instant until;
    /// All of `answer` is kept, also the zeros at its end: it is no MAD, but a record that one is
    /// made of.
    bool is_record{false};
  };

  /// The same, in 40 bytes and, where it says more than most, 16 more.
  class Entry {
   public:
    RequestKey key() const;
    std::uint64_t first() const { return first_; }
    std::uint64_t whole() const { return has_more_ ? more().whole : first_; }
    std::uint64_t subject() const { return has_more_ ? more().subject : 0; }
    ib::Instant until() const { return until_; }
    bool is_record() const { return is_record_; }
    bool is_current() const { return is_current_; }    // neither erased nor replaced
    bool is_outdated() const { return is_outdated_; }  // something newer was said about its subject

   private:
    friend class AnswerLog;
    struct More {
      std::uint64_t whole, subject;
    };
    Entry(const Note& note, std::size_t answer_bytes);
    bool has(const RequestKey& key) const;
    const More& more() const { return *std::launder(reinterpret_cast<const More*>(this + 1)); }
    std::size_t head_bytes() const { return sizeof(Entry) + (has_more_ ? sizeof(More) : 0); }
    const std::byte* answer() const {
      return reinterpret_cast<const std::byte*>(this) + head_bytes();
    }

    std::uint64_t tid_, first_;
    ib::Instant until_;
    std::uint32_t qpn_ : 24;
    std::uint32_t has_more_ : 1, is_record_ : 1, is_current_ : 1, is_outdated_ : 1;
    std::uint32_t tag_;
    std::uint16_t lid_, attribute_;
    std::uint16_t bytes_;  // of the answer that are kept
    std::uint8_t method_;
  };
  struct Found {
    const Entry* entry;
    std::span<const std::byte> answer;  // without the zeros at its end, unless it is a record
  };

  /// Keeps at most `bytes_max` bytes of entries, and one.
  explicit AnswerLog(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Begins to fetch from memory what find() will look at first.
  void fetch(std::uint32_t tag) const {
    if (!places_.empty()) ib::fetch_line(&places_[tag & mask()]);
  }
  /// Valid until the next call that changes the log.
  Found find(const RequestKey& key) const;
  /// Takes the place of an entry with the same key. `until` never decreases from one to the next.
  void add(const Note& note, std::span<const std::byte> answer);
  void erase(const RequestKey& key);
  void mark_outdated(const RequestKey& key);

  /// The entry to leave next; nullptr: the log is empty. It may not be current any more.
  const Entry* oldest() const { return bytes_ == 0 ? nullptr : at(first_block_ + begin_); }
  bool is_over() const { return bytes_ > bytes_max_; }
  void drop_oldest();

  /// Current entries.
  std::size_t size() const { return used_; }

  /// Frees memory that entries which are gone have needed.
  void tidy();
  std::size_t bytes() const;

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

  std::size_t index_of(Where where) const { return where / kBlockUnits & (blocks_.size() - 1); }
  Entry* at(Where where) const {
    std::byte* bytes = blocks_[index_of(where)].bytes.get() + where % kBlockUnits * kUnit;
    return std::launder(reinterpret_cast<Entry*>(bytes));
  }
  static std::uint32_t units_of(const Entry& entry) {
    return static_cast<std::uint32_t>((entry.head_bytes() + entry.bytes_ + kUnit - 1) / kUnit);
  }
  Where last_block() const { return first_block_ + (block_count_ - 1) * kBlockUnits; }
  Block& add_block();
  std::size_t place_of(const RequestKey& key) const;  // places_.size(): none
  Place& place_for(const RequestKey& key);
  void put_place(std::uint32_t tag, Where where);
  std::size_t place_of_oldest() const;
  void clear_place(std::size_t place);
  /// A power of two, more than are used.
  void resize_places(std::size_t places);
  std::size_t mask() const { return places_.size() - 1; }

  std::size_t bytes_max_;
  std::vector<Block> blocks_;     // by number, modulo how many there is room for: a power of two
  std::uint32_t block_count_{0};  // only the last may be empty
  Block spare_;                   // the last one given back
  Where first_block_{0};          // where the one with the oldest entry begins
  std::uint32_t begin_{0};        // unit of that entry in it
  std::size_t bytes_{0};
  std::vector<Place> places_;
  std::size_t used_{0};
};

}  // namespace sm::sa
