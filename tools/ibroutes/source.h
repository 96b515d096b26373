// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Where ibroutes has fabric and tables from: the live fabric, or two files.
#pragma once

#include <optional>

#include "libdiag/fabric/names.h"
#include "libdiag/tables/virtual_lanes.h"
#include "tools/common/connection.h"
#include "tools/ibroutes/sl_reader.h"
#include "tools/ibroutes/table_reader.h"

namespace ib::tools {

struct Source {
  fabric::Fabric fabric;
  std::vector<tables::SwitchTables> tables;
  std::vector<std::string> errors;         // what could not be read
  std::vector<std::string> warnings;       // what is odd in a topology file
  std::string gaps;                        // what such a file lacks, a clause; empty: nothing
  bool unseen{false};                      // the sweep has gaps: there may be more nodes
  std::optional<Error> unfound;            // of the one switch that was asked for; then no tables
  fabric::NodeNames names;                 // of the node-name map
  Lid sm_lid{};                            // 0: not known
  std::optional<tables::SlToVl> sl_to_vl;  // by the switches of CompactGraph(fabric)
  std::optional<PathSlsRead> path_sls;     // of the live fabric, where it was asked for
  bool complete() const { return errors.empty(); }
  /// The errors in a clause, for a verdict; empty: there are none.
  std::string missing() const;
};

struct LoadOptions {
  TableReaderOptions tables{};
  bool sl2vl{false};            // SL2VL tables too
  bool path_sls{false};         // SLs of paths too
  std::string only{};           // a switch, by any of its names; empty: all
  std::string node_name_map{};  // file; empty: none
};

/// Nodes have their own names still: apply_names() is another step. Unavailable where the local
/// port is DOWN.
Result<Source> load_live(Connection& connection, const LoadOptions& options);

/// A topology (ibnetdiscover's text or opensm-subnet.lst) and tables in any of the dump formats.
/// Switches without tables are among the errors. Of `options`, which tables are read
/// (`tables.unicast`, `tables.multicast`) and of which switch counts here; an error of kind Usage
/// says that SL2VL tables are not in these files.
Result<Source> load_files(const std::string& topology_path, const std::string& tables_path,
                          const LoadOptions& options);

/// Names of the node-name map, in fabric and tables; nodes are found by their own names as well.
void apply_names(Source& source);

}  // namespace ib::tools
