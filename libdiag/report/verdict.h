// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Parts of a verdict on routes that several programs print (doc/formats.md, ibroutes).
#pragma once

#include <span>
#include <string>

#include "libdiag/report/json.h"
#include "libdiag/tables/figures.h"
#include "libdiag/tables/pieces.h"
#include "libdiag/tables/verify.h"

namespace ib::report {

/// Reachability, loops, credit loops and load, as "name: value" lines, and as members of the object
/// that is open.
std::string verdict_text(const tables::Verdict& verdict);
void write_verdict(JsonWriter& json, const tables::Verdict& verdict);

/// As the member "subfabrics": switches and hosts of each.
void write_pieces(JsonWriter& json, const fabric::Fabric& fabric,
                  std::span<const tables::Piece> pieces);

/// As "figure: value" lines, and as the member "figures".
std::string figures_text(const tables::Figures& figures);
void write_figures(JsonWriter& json, const tables::Figures& figures);

/// Whether a finding is an error: a credit loop always is, whether or not the engine promised none.
bool is_error(const tables::Finding& finding);

/// What a verdict says besides what was found on routes.
struct VerdictScope {
  std::size_t duplicate_lids{0};
  std::string missing;  // what of the fabric is unknown, a clause; empty: nothing
  std::string nothing;  // why there are no routes to verify; empty: there are
};
/// Why no pair of a host's switch and a LID is there to be verified; empty where some are.
std::string nothing_to_verify(const fabric::CompactGraph& graph, const tables::Verdict& verdict);
/// "routes are verified", or what is wrong: "routes can deadlock (689 channels)". Of incomplete
/// data "incomplete (WHAT IS MISSING): ..." first.
std::string routes_verdict(const tables::Verdict& verdict, const VerdictScope& scope = {});

/// As "error: MESSAGE" and "warning: MESSAGE" lines, and as the member "findings".
std::string findings_text(std::span<const tables::Finding> findings);
void write_findings(JsonWriter& json, const fabric::Fabric& fabric,
                    const fabric::CompactGraph& graph, std::span<const tables::Finding> findings);

}  // namespace ib::report
