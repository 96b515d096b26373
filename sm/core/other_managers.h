// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// OtherManagers: subnet managers that ports of the subnet speak of, as they answered SMInfo.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libdiag/base/log.h"
#include "libdiag/discover/observed.h"
#include "libdiag/mad/request.h"

namespace sm::core {

class OtherManagers {
 public:
  /// One question to each port but ours that says it is one. The lower 40 bits of cookies are used.
  static std::vector<ib::mad::Request> questions(const ib::discover::Observed& seen,
                                                 ib::mad::Cookie cookie_base);
  /// What to say of an answer, if that is news.
  std::optional<ib::LogEvent> on_answer(const ib::wire::SmInfo& info);
  /// One that answered that it is master: where it is, for a message; empty: none did.
  std::string master(const ib::fabric::Fabric& fabric) const;
  /// As they answered last, by port GUID, without their keys.
  std::vector<ib::wire::SmInfo> known() const;

 private:
  std::map<ib::Guid, ib::wire::SmInfo> known_;
};

}  // namespace sm::core
