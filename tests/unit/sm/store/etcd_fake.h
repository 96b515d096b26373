// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// etcd as far as the store knows it: keys with their values, transactions, older revisions; and the
// ways in which it fails.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sm/store/etcd/client.h"

namespace sm::store::etcd {

class FakeEtcd {
 public:
  using Keys = std::map<std::string, std::string>;

  enum class Fault {
    None,
    Away,        // nobody answers, and nothing is done
    AnswerLost,  // it is done, and nobody says so
    Late,        // it is done when deliver() is called
    Full,        // its quota is used up: no Put any more
  };

  Keys keys;
  /// Of the next requests, one each; behind them `always`.
  std::vector<Fault> next;
  Fault always{Fault::None};
  std::function<void()> before_range;  // what others do meanwhile
  std::size_t txns{0}, largest{0}, most_operations{0};

  ib::Result<TxnAnswer> run(const Txn& txn) {
    ++txns;
    most_operations =
        std::max(most_operations, txn.puts.size() + txn.removes.size() + txn.reads.size());
    for (const KeyValue& put : txn.puts) largest = std::max(largest, put.value.size());
    const Fault fault = next_fault();
    if (fault == Fault::Away) return silence();
    if (fault == Fault::Full && !txn.puts.empty())
      return ib::fail(ib::ErrorKind::Refused, "etcdserver: mvcc: database space exceeded");
    if (fault == Fault::Late) {
      late_.push_back(txn);
      return silence();
    }
    auto answer = apply(txn);
    if (fault == Fault::AnswerLost) return silence();
    return answer;
  }
  ib::Result<RangeAnswer> run(const RangeRequest& range) {
    if (next_fault() == Fault::Away) return silence();
    if (before_range) std::exchange(before_range, nullptr)();
    if (range.revision < compacted)
      return ib::fail(ib::ErrorKind::Refused, "required revision has been compacted");
    RangeAnswer answer;
    for (KeyValue& one : select(history_.at(range.revision), range.keys)) {
      if (range.limit != 0 && std::ssize(answer.found) == range.limit) {
        answer.more = true;
        break;
      }
      answer.found.push_back(std::move(one));
    }
    return answer;
  }
  /// What was under way for long arrives.
  void deliver() {
    for (const Txn& txn : std::exchange(late_, {})) (void)apply(txn);
  }
  std::int64_t compacted{0};
  std::uint64_t term{1};  // of the leader
  std::int64_t revision() const { return revision_; }

 private:
  static tl::unexpected<ib::Error> silence() {
    return ib::fail(ib::ErrorKind::TimedOut, "etcd does not answer");
  }
  Fault next_fault() {
    if (next.empty()) return always;
    const Fault fault = next.front();
    next.erase(next.begin());
    return fault;
  }
  static std::vector<KeyValue> select(const Keys& from, const KeyRange& range) {
    std::vector<KeyValue> found;
    for (auto at = from.lower_bound(range.first); at != from.end(); ++at) {
      if (range.end.empty() ? at->first != range.first : at->first >= range.end) break;
      found.push_back({at->first, at->second});
    }
    return found;
  }
  TxnAnswer apply(const Txn& txn) {
    TxnAnswer answer;
    answer.succeeded = true;
    for (const Compare& condition : txn.conditions) {
      const auto at = keys.find(condition.key);
      answer.succeeded =
          answer.succeeded &&
          (condition.value ? at != keys.end() && at->second == *condition.value : at == keys.end());
    }
    if (answer.succeeded) {
      for (const KeyValue& put : txn.puts) keys[put.key] = put.value;
      for (const KeyRange& range : txn.removes)
        for (const KeyValue& one : select(keys, range)) keys.erase(one.key);
    }
    history_[++revision_] = keys;
    answer.revision = revision_;
    answer.term = term;
    for (const KeyRange& range : answer.succeeded ? txn.reads : txn.otherwise)
      answer.reads.push_back(select(keys, range));
    return answer;
  }

  std::int64_t revision_{0};
  std::map<std::int64_t, Keys> history_;
  std::vector<Txn> late_;
};

/// One of those who use it.
class FakeCluster final : public Cluster {
 public:
  explicit FakeCluster(FakeEtcd& etcd) : etcd_(etcd) {}
  ib::Result<TxnAnswer> ask(const Txn& txn) override { return etcd_.run(txn); }
  ib::Result<RangeAnswer> ask(const RangeRequest& range) override { return etcd_.run(range); }

 private:
  FakeEtcd& etcd_;
};

}  // namespace sm::store::etcd
