// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/etcd/etcd_board.h"

#include <utility>

#include "sm/store/etcd/layout.h"

namespace sm::store::etcd {

EtcdBoard::EtcdBoard(const std::string& prefix, const std::string& who,
                     std::unique_ptr<Cluster> cluster)
    : folder_(managers_folder(prefix)), own_key_(folder_ + who), cluster_(std::move(cluster)) {}

ib::Result<std::vector<Posting>> EtcdBoard::exchange(const std::string& text) {
  Txn txn;
  txn.puts = {{own_key_, text}};
  txn.reads = {KeyRange::under(folder_)};
  auto answer = cluster_->ask(txn);
  if (!answer) return tl::unexpected<ib::Error>(std::move(answer.error()));
  std::vector<Posting> others;
  if (answer->reads.empty()) return others;
  for (KeyValue& one : answer->reads.front())
    if (one.key != own_key_)
      others.push_back({one.key.substr(folder_.size()), std::move(one.value)});
  return others;
}

ib::Result<void> EtcdBoard::withdraw() {
  Txn txn;
  txn.removes = {{own_key_, {}}};
  return cluster_->ask(txn).map([](const TxnAnswer&) {});
}

}  // namespace sm::store::etcd
