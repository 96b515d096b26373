// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/shared_copies.h"

namespace sm::daemon {

ib::Result<std::optional<store::PolicyCopy>> SharedCopies::read(const std::string& name) {
  if (!away_ && !copies_) {
    if (auto opened = store::open_etcd_policy(options_))
      copies_ = *std::move(opened);
    else
      away_ = std::move(opened.error());
  }
  if (away_) return tl::unexpected<ib::Error>(*away_);
  auto copy = copies_->read(name);
  if (!copy && copy.error().kind == ib::ErrorKind::TimedOut) away_ = copy.error();
  return copy;
}

std::string SharedCopies::place(const std::string& name) const {
  return copies_ ? copies_->place(name) : std::string();
}

}  // namespace sm::daemon
