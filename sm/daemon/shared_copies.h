// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Copies of policy files that subnet managers share, asked for by a start whose own file is broken:
// etcd hears nothing of any other, and is not waited for twice.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sm/store/etcd/open.h"

namespace sm::daemon {

class SharedCopies final : public store::PolicyCopies {
 public:
  explicit SharedCopies(store::EtcdOptions options) : options_(std::move(options)) {}
  ib::Result<std::optional<store::PolicyCopy>> read(const std::string& name) override;
  std::string place(const std::string& name) const override;

 private:
  store::EtcdOptions options_;
  std::unique_ptr<store::PolicyCopies> copies_;
  std::optional<ib::Error> away_;
};

}  // namespace sm::daemon
