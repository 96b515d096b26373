// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Book: what is kept of a fabric in etcd (layout.h), read and written. A batch is one value of the
// log, and becomes visible with the head that counts it; a large batch, and every few hundred, are
// a new snapshot in its place. Each write holds only while the epoch is ours and the head is the
// one that we know, so that of a write that nobody answered, and that arrives late, nothing comes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "libdiag/base/result.h"
#include "sm/store/etcd/client.h"
#include "sm/store/etcd/layout.h"
#include "sm/store/store.h"

namespace sm::store::etcd {

struct BookOptions {
  std::string prefix;                    // ends with a slash
  std::string fabric;                    // what it is known by; a word
  std::string holder;                    // who we are; a word that nobody else has
  std::uint32_t log_most{512};           // entries; then there is a new snapshot
  std::size_t log_bytes_most{4U << 20};  // likewise
  std::size_t entry_most{32U << 10};     // a larger batch is a snapshot
  std::size_t part_most{256U << 10};     // of a snapshot; etcd takes requests of 1.5 MB
};

class Book {
 public:
  /// `cluster` outlives it.
  Book(BookOptions options, Cluster& cluster) : options_(std::move(options)), cluster_(cluster) {}

  /// What is there; it is nobody's for that. TimedOut: etcd cannot be reached. Unavailable: it is
  /// of a newer release, or of another fabric. Malformed: it is damaged. Nothing is written where
  /// it cannot be read.
  ib::Result<Contents> read();
  /// Something was there when it was read last.
  bool was_there() const { return !known_head_.empty(); }

  /// From now on only we write, until somebody else does the same. What is there then.
  /// Unavailable, too, where what is kept is not of the fabric of `ports` (kinship.h).
  ib::Result<Contents> take(const std::vector<ib::Guid>& ports = {});
  /// Makes `batch` durable, after which everything is `contents`. An error: it is not known whether
  /// it was done; write() makes up for it.
  ib::Result<void> commit(const Batch& batch, const Contents& contents);
  /// Whether everything is still there, and ours; it is written again if it is gone. Refused: it is
  /// somebody else's.
  ib::Result<void> check(const Contents& contents);
  /// Everything again.
  ib::Result<void> write(const Contents& contents);
  /// Ours, as it was taken last; empty: never.
  const std::string& epoch() const { return epoch_; }
  /// Whose it was before that; empty: nobody's.
  const std::string& epoch_before() const { return epoch_before_; }
  /// True once after its keys were found to be gone, and everything was written again.
  bool take_was_gone() { return std::exchange(was_gone_, false); }
  /// True once after it was found that somebody answered clients and could not write what.
  bool take_lacks() { return std::exchange(lacks_, false); }
  /// Tells the writer that we did.
  ib::Result<void> tell_lacks();
  /// Somebody else has taken it: nothing that we wrote since was kept, and nothing will be.
  bool is_deposed() const { return is_deposed_; }

 private:
  ib::Result<Contents> read_once();
  /// Epoch and head as texts; empty: not there.
  struct Marks {
    std::string epoch, head, term, lacks;
    std::int64_t revision{};
    std::string term_now;
  };
  ib::Result<Marks> marks();
  static Marks marks_of(const TxnAnswer& answer);
  ib::Result<void> accept(const Marks& marks);
  void take_marks(const Marks& marks);
  ib::Result<void> keep_marks(const Marks& marks);
  ib::Result<void> begin_again();
  ib::Result<void> write_if(Txn txn, const std::string& head);
  std::string name() const { return "etcd, " + options_.prefix; }
  tl::unexpected<ib::Error> cannot(ib::Error error) const;

  BookOptions options_;
  Cluster& cluster_;
  std::string known_epoch_, known_head_;  // as read or written last; empty: not there
  Head head_;                             // that one
  std::string epoch_;                     // ours, as it was taken; empty: never
  std::string epoch_before_;              // what stood there when it was taken
  std::uint64_t generation_most_{0};      // that we ever began
  std::uint32_t log_entries_{0};
  std::size_t log_bytes_{0};
  Marks marks_;             // as they were read last
  std::string lacks_told_;  // the mark that was acted on
  bool lacks_{false};       // one is not told yet
  std::uint64_t lacks_said_{0};
  bool is_deposed_{false};
  bool is_gone_{false};   // neither epoch nor head is there any more
  bool was_gone_{false};  // so it was, and is not told yet
};

}  // namespace sm::store::etcd
