// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The path of the tables from a port to a LID, as ibtracert prints it; every hop up to a failure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libdiag/fabric/fabric.h"
#include "libdiag/fabric/names.h"
#include "libdiag/tables/dump.h"

namespace ib::tools {

struct PathStep {
  fabric::NodeIndex node{fabric::kNoNode};
  std::uint8_t in_port{};   // 0 at the source
  std::uint8_t out_port{};  // 0 at the destination
};

struct TablePath {
  fabric::PortRef source;
  Lid dlid{};
  std::vector<PathStep> steps;  // the source first
  std::string failure;          // empty: it arrives
  bool arrives() const { return failure.empty(); }
};

/// Follows `tables` from the end port `source` to `dlid`: to `target` where it is given, and to no
/// other port that has the LID too.
TablePath follow(const fabric::Fabric& fabric, std::span<const tables::SwitchTables> tables,
                 fabric::PortRef source, Lid dlid, std::optional<fabric::PortRef> target = {});

/// ibtracert's default format; the last line says what failed, if something did.
std::string path_text(const fabric::Fabric& fabric, const TablePath& path);

}  // namespace ib::tools
