// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which forward error correction runs on each cable, by both of its ends (PortInfoExtended): where
// they say different things one of them counts errors that the other one does not correct.
#pragma once

#include <string>
#include <vector>

#include "libdiag/discover/observed.h"
#include "libdiag/mad/session.h"

namespace ib::tools::topo {

struct FecFindings {
  std::size_t cables{};             // of which both ends told
  std::vector<std::string> lines;   // cables whose ends differ
  std::vector<std::string> silent;  // ports that have the attribute and did not answer
};

/// Asks the ports that say that they have PortInfoExtended, of cables whose two ends do.
Result<FecFindings> check_fec(mad::Session& session, const discover::Observed& observed,
                              std::uint64_t m_key);

}  // namespace ib::tools::topo
