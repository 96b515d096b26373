// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Requests that are sent again because an answer was late or lost: the same request, from the same
// LID and QP, with the same TID, method and attribute, is served once. While it is under way it is
// ignored; afterwards it gets the answer that was given, for as long as clients repeat themselves.
// Bounded: reads and writes have a log each, and the oldest go first when one is full.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

#include "libdiag/base/instant.h"
#include "libdiag/mad/transport.h"
#include "sm/sa/intake/answer_log.h"
#include "sm/sa/intake/under_way.h"

namespace sm::sa {

struct ReplayOptions {
  ib::Duration reads_for{std::chrono::seconds(5)};
  ib::Duration writes_for{std::chrono::seconds(30)};
  /// ... about which something newer was said since: late copies of a join must not undo the leave
  /// after it, but a client that reuses a TID after so long sends a new request.
  ib::Duration outdated_writes_for{std::chrono::seconds(5)};
  // A path takes 104 bytes, a join 176: 5 s at 55,000 joins a second, which is more than the server
  // judges, and at 48,000 reads, which is less: in a storm of reads the oldest answers go sooner,
  // and a read that comes again is answered from the present.
  std::size_t reads_bytes_max{24U << 20};
  std::size_t writes_bytes_max{48U << 20};
};

/// Two requests that are asked in the same words have the same. Who finds two others that have can
/// mislead itself and nobody else.
std::uint64_t fingerprint_of(const ib::mad::Packet& request);

class Replays {
 public:
  explicit Replays(const ReplayOptions& options = {})
      : options_(options), reads_(options.reads_bytes_max), writes_(options.writes_bytes_max) {}

  enum class Seen {
    Never,     // serve it
    UnderWay,  // its answer will come
    Answered   // answer() has it
  };
  Seen find(ib::Instant now, const ib::mad::Packet& request);
  /// find() will be asked of `request` soon: begins to fetch what it needs, so that it need not
  /// wait for memory.
  void fetch(const ib::mad::Packet& request) const;
  /// The answer given before, addressed to the sender of `request`.
  ib::mad::Packet answer(const ib::mad::Packet& request) const;
  /// The first segment of a message that was answered already: what its sender lacks.
  std::optional<ib::mad::Packet> answer_to_first_segment(const ib::mad::Packet& segment) const;

  /// The request of which find() has just said Never is served from now on; one end() or forget()
  /// follows.
  void begin();
  /// It was answered, once and for all.
  void end(ib::Instant now, const ib::mad::Packet& request, const ib::mad::Packet& answer);
  /// The same by a GetResp of status 0 with this record and nothing else that is not the request's:
  /// it is made again when it is asked for.
  void end(ib::Instant now, const ib::mad::Packet& request, std::span<const std::byte> record);
  /// It was not: refused for now, or answered by what is not kept. If it comes again it is new.
  void forget(const ib::mad::Packet& request);

  /// Frees what nobody will ask for again.
  void tidy(ib::Instant now);
  /// What all of it takes, without what the allocator needs.
  std::size_t bytes() const;
  /// No answer is kept that time would free.
  bool is_empty() const { return reads_.oldest() == nullptr && writes_.oldest() == nullptr; }

  /// Answers that are kept, and things that writes among them were about.
  std::size_t size() const { return reads_.size() + writes_.size(); }
  std::size_t subjects() const { return latest_.size(); }

 private:
  static RequestKey key_of(const ib::mad::Packet& request);
  static bool is_write(const RequestKey& key);
  AnswerLog& log_of(const RequestKey& key) { return is_write(key) ? writes_ : reads_; }
  const AnswerLog& log_of(const RequestKey& key) const { return is_write(key) ? writes_ : reads_; }
  bool is_too_old(ib::Instant now, const AnswerLog::Entry& entry) const;
  ib::mad::Packet addressed(const ib::mad::Packet& request, const AnswerLog::Found& found) const;
  void keep(ib::Instant now, const ib::mad::Packet& request, std::span<const std::byte> answer,
            bool is_record);
  void expire(ib::Instant now);
  void count_end();
  void erase_answer(const RequestKey& key);
  void drop_oldest(AnswerLog& log);
  void forget_subject(std::uint64_t subject, const RequestKey& key);

  ReplayOptions options_;
  UnderWay under_way_;
  std::size_t begun_{0};  // and not ended or forgotten
  // One of them has lost its place to another: only then an answer may be to a request that does
  // not stand there any more.
  bool is_ambiguous_{false};
  struct {
    UnderWay::Request request;
    bool is_in_log{};
  } looked_at_;  // by the last find(), where it said Never
  AnswerLog reads_, writes_;
  std::unordered_map<std::uint64_t, RequestKey> latest_;  // answered write, by subject
};

}  // namespace sm::sa
