// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// VLs as text: SL2VL tables as opensm writes them to opensm-sl2vl.dump, and the SLs of paths in a
// format of ours that looks the same (doc/formats.md).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"
#include "libdiag/tables/virtual_lanes.h"

namespace ib::tables {

/// Rows of CA and router ports that are another than that of injection.
using HostRows = std::map<fabric::PortRef, SlToVlRow>;

/// The SL2VL tables of all switches, and of every CA and router port that has a LID.
void append_sl2vl(std::string& out, const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                  const SlToVl& tables, const HostRows& hosts = {});

/// Reads them. Rows of switches that are not there are as those of the CA ports, and without these
/// SL i is on VL i; GUIDs the fabric does not know, ports it does not have and CA ports that differ
/// from each other are errors. An error is `FILE:LINE:COLUMN: expected X, got Y`.
Result<SlToVl> read_sl2vl(std::string_view text, std::string_view file_name,
                          const fabric::Fabric& fabric, const fabric::CompactGraph& graph);

/// By switch, ranges of LIDs with the SL that end ports of the switch use to them.
void append_path_sls(std::string& out, const fabric::Fabric& fabric,
                     const fabric::CompactGraph& graph, const PathSls& sls);

/// Reads them; sections may also be of single CA and router ports. Pairs that are not named have
/// SL 0. Different SLs between the ports of two switches are an error.
Result<PathSls> read_path_sls(std::string_view text, std::string_view file_name,
                              const fabric::Fabric& fabric, const fabric::CompactGraph& graph);

}  // namespace ib::tables
