// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibpath batch FILE`: paths of many pairs, a window of queries in flight, answers in the order of
// the file.
//
//   # SRC DST [FIELD=VALUE...]; a '#' that begins a word begins a comment
//   4 9
//   "host1 HCA-1" 0x0002c903000085d1 SL=2 Mtu>1024
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "tools/ibpath/paths.h"

namespace ibpath {

struct BatchLine {
  std::size_t number{};
  Pair pair;
};
struct BatchFile {
  std::vector<BatchLine> lines;
  std::vector<std::string> complaints;  // "FILE:3: ...": lines that cannot be read
};
/// Words are separated by blanks; in double quotes a word may contain them.
BatchFile read_batch(std::string_view text, const std::string& file, const Options& options);

/// Asks for many paths, so many at a time, and hands the answers over in the order of `queries`. A
/// machine: no I/O of its own.
///
/// What the SA is too BUSY for is kept, and the window halved. When nothing else is under way the
/// batch is done() but not finished(): after a rest it goes on.
class PathBatch final : public ib::mad::Exchange {
 public:
  using Answer = ib::Result<std::vector<ib::wire::PathRecord>>;
  using Deliver = std::function<void(std::size_t, Answer)>;
  PathBatch(const ib::query::SaAddress& sa, std::vector<PathQuery> queries, std::size_t window,
            Deliver deliver);

  std::vector<ib::mad::Request> take_requests() override;
  void on_completion(ib::Instant now, const ib::mad::Completion& completion) override;
  bool done() const override { return finished() || in_flight_ == 0; }
  bool finished() const { return delivered_ == queries_.size(); }
  /// How long to rest before run() again, when done() and not finished().
  ib::Duration rest();

 private:
  ib::mad::Request request(std::size_t index);
  ib::query::SaAddress sa_;
  std::vector<PathQuery> queries_;
  std::size_t window_;
  std::size_t window_max_;
  Deliver deliver_;
  std::size_t sent_{0}, delivered_{0}, in_flight_{0};
  ib::query::BusyRests rests_;
  unsigned rested_{0};                         // without an answer since
  std::deque<std::size_t> again_, kept_;       // to be sent; to be sent after a rest
  std::deque<std::optional<Answer>> waiting_;  // from delivered_ to sent_
};

ib::Result<Job> plan_batch(const Options& options, Words words);

}  // namespace ibpath
