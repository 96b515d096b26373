// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/lost_store.h"

#include <fmt/format.h>

#include <algorithm>

namespace sm::core {

std::string describe_lost_store(const ib::discover::Observed& found, const plan::Desired& planned) {
  using ib::wire::PortInfo;
  using ib::wire::PortState;
  const auto tells = [&](const ib::route::LidAssignment& a) {
    const auto& seen = found.port(a.port);
    return a.port != planned.sm_port &&
           (seen.state() == PortState::Armed || seen.state() == PortState::Active) &&
           a.lid != ib::kNoLid && seen.get<&PortInfo::lid>() == a.lid &&
           seen.get<&PortInfo::master_sm_lid>() == planned.sm_lid;
  };
  const auto ports = std::count_if(planned.lids.begin(), planned.lids.end(), tells);
  if (ports == 0) return {};
  return fmt::format(
      "{} ports hold LIDs and name ours, LID {}, for their subnet manager's, but no LID is stored: "
      "the state directory of an earlier ibsm is lost, or another subnet manager was here; the "
      "ports keep their LIDs, and all clients are asked to register again",
      ports, planned.sm_lid.value);
}

}  // namespace sm::core
