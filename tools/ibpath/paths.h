// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which path records are wanted, and their fetching from the SA.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libdiag/query/sa_client.h"
#include "tools/common/target.h"

namespace ibpath {

/// One end as the SA is asked for it: a LID or a GID.
struct End {
  std::optional<ib::Lid> lid;
  std::optional<ib::Gid> gid;
  friend bool operator==(const End&, const End&) = default;
};

/// What a path must have; empty: whatever.
struct Wanted {
  std::optional<std::uint8_t> numb_path;  // 1-127 a pair of ports
  std::optional<std::uint8_t> sl;
  std::optional<std::uint16_t> p_key;
  bool reversible{false};
};

/// The request for paths between two ends, and its component mask.
struct PathQuery {
  ib::wire::PathRecord record;
  std::uint64_t mask{};
};
PathQuery path_query(const End& source, const End& destination, const Wanted& wanted);

/// The ports a target means: one, or every port of the node it names. NotFound when the SA knows
/// none; Usage, with the GUIDs, when several nodes bear the name.
ib::Result<std::vector<End>> resolve(ib::mad::Session& session, ib::query::SaClient& sa,
                                     const ib::mad::PortFacts& facts,
                                     const ib::tools::Target& target);

/// All paths from any of `sources` to any of `destinations`. None is not an error.
ib::Result<std::vector<ib::wire::PathRecord>> fetch(ib::query::SaClient& sa,
                                                    const std::vector<End>& sources,
                                                    const std::vector<End>& destinations,
                                                    const Wanted& wanted);

}  // namespace ibpath
