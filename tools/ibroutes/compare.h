// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What engines would make of a fabric, held against what is programmed. Nothing is written to it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "libdiag/route/choose.h"
#include "libdiag/route/files.h"
#include "tools/ibroutes/source.h"

namespace ib::tools {

struct CompareOptions {
  std::vector<std::string> engines;  // empty: all
  route::OptionFiles files;          // of routing
  unsigned vls_max{8};
  std::function<double()> clock;                 // seconds; empty: nothing is timed
  std::function<void(const std::string&)> warn;  // of a file that says nothing
};

/// --root_guid_file and the others, with opensm's names. Their letters mean other things here.
void add_option_files(CommandLine& line, route::OptionFiles& files);

/// The first row is what is programmed, on `lanes`. An error is of kind Usage and names a file and
/// what is wrong in it, or says that the fabric has no LIDs yet.
Result<std::vector<route::Tried>> compare(const Source& source, const fabric::CompactGraph& graph,
                                          const routes::Lanes& lanes,
                                          const CompareOptions& options);

std::string comparison_json(const Source& source, const std::vector<route::Tried>& rows,
                            const std::string& version);

/// Seconds since whenever.
double seconds_now();

}  // namespace ib::tools
