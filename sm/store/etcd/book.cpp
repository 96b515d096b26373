// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/etcd/book.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sm/store/etcd/batch_code.h"
#include "sm/store/kinship.h"

namespace sm::store::etcd {
namespace {

/// Somebody else writes meanwhile: once more.
constexpr int kAttempts = 5;
/// Answers stay below some megabytes.
constexpr std::int64_t kLogPage = 64, kPartsPage = 8;

ib::Error damaged(std::string what) { return {ib::ErrorKind::Malformed, std::move(what), 0}; }

std::optional<std::string> value_there(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace

tl::unexpected<ib::Error> Book::cannot(ib::Error error) const {
  error.message = fmt::format("the store in {} cannot be used: {}", name(), error.message);
  if (error.kind == ib::ErrorKind::Malformed)
    error.message += "; nothing there was changed: `etcdctl del --prefix " + options_.prefix +
                     "` begins a new one";
  return tl::unexpected<ib::Error>(std::move(error));
}

Book::Marks Book::marks_of(const TxnAnswer& answer) {
  Marks marks;
  const auto value = [&](std::size_t i) {
    return i < answer.reads.size() && !answer.reads[i].empty() ? answer.reads[i].front().value
                                                               : std::string();
  };
  marks.epoch = value(0);
  marks.head = value(1);
  marks.term = value(2);
  marks.lacks = value(3);
  marks.revision = answer.revision;
  marks.term_now = std::to_string(answer.term);
  return marks;
}

ib::Result<Book::Marks> Book::marks() {
  Txn txn;
  txn.reads = {{epoch_key(options_.prefix), {}},
               {head_key(options_.prefix), {}},
               {term_key(options_.prefix), {}},
               {lacks_key(options_.prefix), {}}};
  return cluster_.ask(txn).map(marks_of);
}

ib::Result<Contents> Book::read() {
  auto contents = read_once();
  // What was replaced meanwhile may be compacted already.
  for (int i = 1; i < kAttempts && !contents && contents.error().kind == ib::ErrorKind::Refused;
       ++i)
    contents = read_once();
  if (!contents) return cannot(std::move(contents.error()));
  return contents;
}

ib::Result<Contents> Book::read_once() {
  auto now = marks();
  if (!now) return tl::unexpected<ib::Error>(std::move(now.error()));
  Contents contents;
  marks_ = *now;
  known_epoch_ = now->epoch;
  known_head_ = now->head;
  head_ = Head{options_.fabric, 0, 0, 0, 0};
  log_entries_ = 0;
  log_bytes_ = 0;
  if (!known_epoch_.empty())
    if (auto epoch = read_epoch(known_epoch_); !epoch)
      return tl::unexpected<ib::Error>(std::move(epoch.error()));
  if (known_head_.empty()) return contents;
  auto head = read_head(known_head_);
  if (!head) return tl::unexpected<ib::Error>(std::move(head.error()));
  head_ = *std::move(head);
  if (head_.fabric != options_.fabric)
    return ib::fail(ib::ErrorKind::Unavailable,
                    fmt::format("it is that of another fabric, {}, and this one is {}; use another "
                                "store_prefix",
                                head_.fabric, options_.fabric));

  auto parts =
      read_all(cluster_, KeyRange::under(snapshot_folder(options_.prefix, head_.generation)),
               now->revision, kPartsPage);
  if (!parts) return tl::unexpected<ib::Error>(std::move(parts.error()));
  // Behind them may be some of an attempt that was given up.
  if (parts->size() < head_.parts)
    return tl::unexpected<ib::Error>(damaged("its snapshot lacks a part"));
  std::string bytes;
  for (std::uint32_t i = 0; i < head_.parts; ++i) bytes += (*parts)[i].value;
  if (head_.parts != 0) {
    const auto all = decode(bytes);
    if (!all) return tl::unexpected<ib::Error>(all.error());
    apply(*all, contents);
  }

  const KeyRange since{log_key(options_.prefix, head_.snapshot_at + 1),
                       log_key(options_.prefix, head_.sequence) + '\0'};
  auto log = head_.sequence == head_.snapshot_at
                 ? std::vector<KeyValue>()
                 : read_all(cluster_, since, now->revision, kLogPage);
  if (!log) return tl::unexpected<ib::Error>(std::move(log.error()));
  if (log->size() != head_.sequence - head_.snapshot_at)
    return tl::unexpected<ib::Error>(damaged("its log lacks an entry"));
  for (const KeyValue& entry : *log) {
    const auto batch = decode(entry.value);
    if (!batch) return tl::unexpected<ib::Error>(batch.error());
    apply(*batch, contents);
    ++log_entries_;
    log_bytes_ += entry.value.size();
  }
  return contents;
}

ib::Result<Contents> Book::take(const std::vector<ib::Guid>& ports) {
  for (int i = 0; i < kAttempts; ++i) {
    auto contents = read();
    if (!contents) return contents;
    if (const Kinship kin = kinship(contents->lids, ports); kin.is_foreign())
      return cannot({ib::ErrorKind::Unavailable,
                     kin.words() +
                         ": it is that of another one; use another store_prefix for this one, "
                         "or `etcdctl del --prefix " +
                         options_.prefix + "` to begin a new store",
                     0});
    Epoch epoch{1, options_.holder};
    if (!known_epoch_.empty()) {
      const auto there = read_epoch(known_epoch_);
      epoch.number = there->number + 1;
      // A take of ours whose answer was lost does not count.
      if (there->holder != options_.holder || known_epoch_ == epoch_) epoch_before_ = known_epoch_;
    }
    const std::string ours = text_of(epoch), head = known_head_;
    Txn txn;
    txn.conditions = {{epoch_key(options_.prefix), value_there(known_epoch_)}};
    txn.puts = {{epoch_key(options_.prefix), ours}};
    // Of another term somebody may have answered clients while etcd had no leader.
    const Marks before = marks_;
    if (before.term.empty()) txn.puts.push_back({term_key(options_.prefix), before.term_now});
    txn.reads = {{head_key(options_.prefix), {}}};
    auto answer = cluster_.ask(txn);
    if (!answer) return cannot(std::move(answer.error()));
    if (!answer->succeeded) continue;
    epoch_ = known_epoch_ = ours;
    is_deposed_ = false;
    take_marks(before);
    generation_most_ = std::max(generation_most_, head_.generation);
    // The one before us may have written since we read; from now on it cannot.
    const bool is_same =
        answer->reads.size() == 1 &&
        (answer->reads[0].empty() ? head.empty() : answer->reads[0].front().value == head);
    return is_same ? std::move(contents) : read();
  }
  return cannot({ib::ErrorKind::TimedOut, "others take it again and again", 0});
}

ib::Result<void> Book::accept(const Marks& marks) {
  // Somebody else who took it would have left an epoch.
  is_gone_ = !epoch_.empty() && marks.epoch.empty() && marks.head.empty();
  if (is_gone_)
    return ib::fail(ib::ErrorKind::TimedOut, fmt::format("the store in {} is gone", name()));
  if (epoch_.empty() || marks.epoch != epoch_) {
    is_deposed_ = true;
    const auto by = read_epoch(marks.epoch);
    return ib::fail(ib::ErrorKind::Refused,
                    fmt::format("another subnet manager has taken the store in {}: {}", name(),
                                by ? by->holder : "its epoch is gone"));
  }
  known_head_ = marks.head;
  return {};
}

void Book::take_marks(const Marks& marks) {
  const bool is_news = !marks.lacks.empty() && marks.lacks != lacks_told_;
  lacks_told_ = marks.lacks;
  if (is_news || (!marks.term.empty() && marks.term != marks.term_now)) lacks_ = true;
}

/// Everything is there: a mark that was acted on goes, and the term is that of now.
ib::Result<void> Book::keep_marks(const Marks& marks) {
  const bool is_served = !marks.lacks.empty() && marks.lacks == lacks_told_;
  if (!marks.lacks.empty() && !is_served) {
    lacks_told_ = marks.lacks;
    lacks_ = true;
  }
  if (!is_served && marks.term == marks.term_now) return {};
  Txn txn;
  txn.conditions = {{epoch_key(options_.prefix), epoch_}};
  txn.puts = {{term_key(options_.prefix), marks.term_now}};
  if (is_served) {
    txn.conditions.push_back({lacks_key(options_.prefix), marks.lacks});
    txn.removes = {{lacks_key(options_.prefix), {}}};
  }
  auto answer = cluster_.ask(txn);
  if (!answer) return tl::unexpected<ib::Error>(std::move(answer.error()));
  return {};
}

ib::Result<void> Book::tell_lacks() {
  Txn txn;
  // Each is another one than that before, which may have been acted on.
  txn.puts = {{lacks_key(options_.prefix),
               fmt::format("ibkit-store=1 holder={} time={}", options_.holder, ++lacks_said_)}};
  auto answer = cluster_.ask(txn);
  if (!answer) return tl::unexpected<ib::Error>(std::move(answer.error()));
  return {};
}

ib::Result<void> Book::begin_again() {
  Txn txn;
  txn.conditions = {{epoch_key(options_.prefix), {}}, {head_key(options_.prefix), {}}};
  txn.puts = {{epoch_key(options_.prefix), epoch_}};
  auto answer = cluster_.ask(txn);
  if (!answer) return cannot(std::move(answer.error()));
  if (!answer->succeeded)
    return ib::fail(ib::ErrorKind::TimedOut,
                    fmt::format("the store in {} was gone, and another began there", name()));
  is_gone_ = false;
  was_gone_ = true;
  known_head_.clear();
  head_ = Head{options_.fabric, 0, 0, 0, 0};
  return {};
}

ib::Result<void> Book::write_if(Txn txn, const std::string& head) {
  txn.conditions = {{epoch_key(options_.prefix), epoch_},
                    {head_key(options_.prefix), value_there(head)}};
  txn.otherwise = {{epoch_key(options_.prefix), {}}, {head_key(options_.prefix), {}}};
  auto answer = cluster_.ask(txn);
  if (!answer)
    return ib::fail(answer.error().kind, fmt::format("the store in {} cannot be written: {}",
                                                     name(), answer.error().message));
  if (answer->succeeded) return {};
  if (auto ours = accept(marks_of(*answer)); !ours) return ours;
  return ib::fail(ib::ErrorKind::TimedOut,
                  fmt::format("the store in {} is another one than was known: a write that was "
                              "given up has arrived after all",
                              name()));
}

ib::Result<void> Book::commit(const Batch& batch, const Contents& contents) {
  const std::string bytes = encode(batch);
  if (known_head_.empty() || bytes.size() > options_.entry_most ||
      log_entries_ >= options_.log_most || log_bytes_ + bytes.size() > options_.log_bytes_most)
    return write(contents);
  Head next = head_;
  ++next.sequence;
  const std::string text = text_of(next);
  Txn txn;
  txn.puts = {{log_key(options_.prefix, next.sequence), bytes}, {head_key(options_.prefix), text}};
  if (auto done = write_if(std::move(txn), known_head_); !done)
    return is_gone_ ? write(contents) : done;
  head_ = std::move(next);
  known_head_ = text;
  ++log_entries_;
  log_bytes_ += bytes.size();
  return {};
}

ib::Result<void> Book::check(const Contents& contents) {
  auto now = marks();
  if (!now) return tl::unexpected<ib::Error>(std::move(now.error()));
  auto ours = accept(*now);
  if (is_gone_) return write(contents);
  return ours ? keep_marks(*now) : ours;
}

ib::Result<void> Book::write(const Contents& contents) {
  auto now = marks();
  if (!now)
    return ib::fail(now.error().kind, fmt::format("the store in {} cannot be written: {}", name(),
                                                  now.error().message));
  if (auto ours = accept(*now); !ours) {
    if (!is_gone_) return ours;
    if (auto again = begin_again(); !again) return again;
  }
  Head there = head_;
  if (!known_head_.empty()) {
    auto head = read_head(known_head_);
    if (!head) return cannot(std::move(head.error()));
    there = *std::move(head);
  }
  Head next{options_.fabric, std::max(generation_most_, there.generation) + 1, 0,
            there.sequence + 1, there.sequence + 1};
  generation_most_ = next.generation;
  const std::string bytes = encode(batch_of(contents));
  const std::string before = known_head_;
  for (std::size_t at = 0; at < bytes.size(); at += options_.part_most) {
    Txn part;
    part.puts = {{snapshot_key(options_.prefix, next.generation, next.parts++),
                  bytes.substr(at, options_.part_most)}};
    if (auto done = write_if(std::move(part), before); !done) return done;
  }
  const std::string text = text_of(next);
  Txn txn;
  txn.puts = {{head_key(options_.prefix), text}};
  txn.removes = {
      KeyRange::under(log_folder(options_.prefix)),
      {snapshots_folder(options_.prefix), snapshot_folder(options_.prefix, next.generation)}};
  if (auto done = write_if(std::move(txn), before); !done) return done;
  head_ = std::move(next);
  known_head_ = text;
  log_entries_ = 0;
  log_bytes_ = 0;
  return {};
}

}  // namespace sm::store::etcd
