// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The board on etcd: a key for each subnet manager, beside those of the store (layout.h).
#pragma once

#include <memory>
#include <string>

#include "sm/store/board.h"
#include "sm/store/etcd/client.h"

namespace sm::store::etcd {

class EtcdBoard final : public Board {
 public:
  /// `prefix` ends with a slash; `who` is a word that no other subnet manager has.
  EtcdBoard(const std::string& prefix, const std::string& who, std::unique_ptr<Cluster> cluster);

  ib::Result<std::vector<Posting>> exchange(const std::string& text) override;
  ib::Result<void> withdraw() override;

 private:
  std::string folder_, own_key_;
  std::unique_ptr<Cluster> cluster_;
};

}  // namespace sm::store::etcd
