// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Where ibtopo gets a fabric from: a file, our own sweep, or libibnetdisc.
#pragma once

#include <string>
#include <vector>

#include "libdiag/base/result.h"
#include "libdiag/fabric/fabric.h"
#include "tools/ibtopo/options.h"

namespace ib::tools::topo {

struct Source {
  fabric::Fabric fabric;
  std::string title;
  bool complete{true};
  std::vector<std::string> errors;    // what could not be read
  std::vector<std::string> warnings;  // what is odd in a file, or at the two ends of a cable
  /// Ends of cables that run below what both ends support; sorted. Known after a sweep only.
  std::optional<std::vector<fabric::PortRef>> degraded;
  /// Nodes that switches say are built in behind their ports, ascending. Known after a sweep only.
  std::vector<Guid> built_in;
  std::string effort;  // for -v: MADs and time
};

Result<Source> load_source(const Options& options);

/// Through libibnetdisc. The library counts a scan with silent nodes as a success; cables that are
/// up and lead nowhere tell.
Result<Source> load_by_ibnetdisc(const Options& options);

}  // namespace ib::tools::topo
