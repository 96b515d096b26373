// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The dump files of a fabric and its routes: one row for each, by the names that opensm and the
// field's scripts know them by. The rows know their text; what goes into which folder, and when, is
// the caller's.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"
#include "libdiag/tables/dump.h"
#include "libdiag/tables/sl2vl_dump.h"

namespace ib::report {

/// What files are written of. A file whose part is null is left out.
struct DumpContent {
  const fabric::Fabric* fabric{};
  const fabric::CompactGraph* graph{};
  std::span<const tables::SwitchTables> switches;  // in the order in which they are written
  const tables::LinearTables* lfts{};
  const tables::SlToVl* sl_to_vl{};
  tables::HostRows host_rows;  // beside `sl_to_vl`
  const tables::PathSls* path_sls{};
  Lid sm_lid{};
};

struct DumpFile {
  std::string_view name;
  bool (*is_there)(const DumpContent& content);
  void (*write)(const tables::TextSink& write, const DumpContent& content);
};

namespace dump_files {
extern const DumpFile kTopology;   // fabric.topo: ibnetdiscover's text, with the LIDs
extern const DumpFile kDumpFts;    // dump_fts.txt
extern const DumpFile kSubnet;     // opensm-subnet.lst
extern const DumpFile kLfts;       // opensm-lfts.dump
extern const DumpFile kFdbs;       // opensm.fdbs
extern const DumpFile kMcFdbs;     // opensm.mcfdbs
extern const DumpFile kLidMatrix;  // opensm-lid-matrix.dump
extern const DumpFile kSl2Vl;      // opensm-sl2vl.dump
extern const DumpFile kPathSls;    // path-sls.dump
}  // namespace dump_files

/// Into `directory`, made if missing; each file is whole or as it was. Returns the paths of what
/// was written. An error is of kind Io and names the file.
Result<std::vector<std::string>> write_dump_files(const std::string& directory,
                                                  std::span<const DumpFile* const> files,
                                                  const DumpContent& content);

/// `write` makes the text of `path`, which is whole or as it was (a device or a pipe is written
/// to).
Result<void> write_dump_file(const std::string& path,
                             const std::function<void(const tables::TextSink&)>& write);

}  // namespace ib::report
