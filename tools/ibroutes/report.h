// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What ibroutes prints of tables, verdicts and paths, as text and JSON (doc/formats.md).
#pragma once

#include <optional>
#include <string>

#include "libdiag/tables/figures.h"
#include "libdiag/tables/pieces.h"
#include "libdiag/tables/verify.h"
#include "tools/ibroutes/path.h"
#include "tools/ibroutes/shared_lids.h"
#include "tools/ibroutes/source.h"

namespace ib::tools {

inline constexpr const char* kRoutesSchema = "ibkit.ibroutes/2";

/// Entries of LIDs that `asked` leaves out are null: they may not have been read.
std::string tables_json(const Source& source, bool unicast, bool multicast,
                        const tables::DumpOptions& asked, const std::string& version);
/// What was written where.
std::string dump_json(const Source& source, const std::vector<std::string>& files,
                      const std::string& version);
struct VerdictReport {
  tables::Verdict verdict;
  bool uses_vls{false};  // some SL uses another VL than 0
  std::optional<tables::Figures> figures;
  std::string sls{"assumed"};         // where SLs of paths are from: file, SA, assumed (SL 0)
  std::vector<std::string> notes;     // what that means, in words
  std::vector<tables::Piece> pieces;  // that no link joins; none when all is one
  std::vector<SharedLid> shared_lids;
  std::string nothing;  // why there is nothing to verify; empty: there is
  std::string missing;  // what of the fabric or its tables is unknown; empty: nothing
};
/// Lines NAME: VALUE, findings, and last `verdict:`; the same as a document, with `source.errors`.
std::string verdict_text(const fabric::Fabric& fabric, const VerdictReport& report);
std::string verdict_json(const Source& source, const fabric::CompactGraph& graph,
                         const VerdictReport& report, const std::string& version);
/// Of a run that prints nothing else, since what was named is not in what answered.
std::string unfound_json(const Source& source, const Error& error, int status,
                         const std::string& version);
/// A path, broken or not, as a document.
std::string path_json(const Source& source, const TablePath& path, const std::string& version);

}  // namespace ib::tools
