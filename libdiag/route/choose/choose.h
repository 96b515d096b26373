// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which engine routes a fabric: those that an operator names, tried in turn, or else the best of
// those that suit the fabric. Each is held to what must hold before it is taken. One implementation
// for the subnet manager, for `ibsm plan` and for tools. Pure.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/route/engine.h"
#include "libdiag/route/reroute/reroute.h"
#include "libdiag/route/spread/quality.h"
#include "libdiag/tables/figures.h"
#include "libdiag/tables/verify_changes.h"

namespace ib::route {

struct ChoiceOptions {
  /// Tried in this order; the first that passes is taken. Empty: the best of what suits the fabric
  /// (default_engines). When none of them passes, that follows, unless `no_fallback`. Credit loops
  /// are refused there as well, so nothing weaker than was asked for comes in by the back door.
  std::vector<std::string> engines;
  bool no_fallback{false};
  bool allow_credit_loops{false};
  unsigned vls_max{8};  // data VLs an engine may use, as far as the links have them
  bool compare{false};  // try all of the list, for the rows; the first that passes is still taken
  std::function<double()> clock;  // seconds since whenever; empty: nothing is timed
  Options engine;
};

/// What became of one engine.
struct Tried {
  std::string engine;
  bool named{false};                       // by the operator
  bool passed{false};                      // its routes may be programmed
  std::string why;                         // not passed: one sentence
  std::optional<tables::Verdict> verdict;  // of its routes, if it fits
  unsigned vls_used{0};
  std::optional<Quality> quality;  // passed, and compared with others
  std::optional<double> seconds;   // to compute the routes, with ChoiceOptions::clock
  /// With ChoiceOptions::compare, of an engine that fits: load and lengths, no patterns.
  std::optional<tables::Figures> figures;
};

struct Choice {
  /// What was taken, or where nothing passed, of those that fit the one that fails least. No
  /// engine: none fits.
  Routes routes;
  tables::Verdict verdict;
  bool passed{false};
  std::vector<Tried> tried;

  /// What an operator should be told every time, a line each: engines he named that did not pass,
  /// one that was taken in their place, credit loops that he allowed.
  std::vector<std::string> alarms() const;
  /// Engines that nobody named and that did not pass, a line each, and a line that says what was
  /// compared.
  std::vector<std::string> notes() const;
};

/// What is known from before.
struct Before {
  /// Asked for the routes of its engine, so that few entries change. Where engines are compared it
  /// is asked first, and its engine stays while no other loads links less by more than kStays.
  Rerouter* rerouter{nullptr};
  /// Engines that did not pass and need not be tried again.
  std::span<const Tried> failed{};
  /// Request::previous_sls.
  const tables::PathSls* sls{nullptr};
};
inline constexpr double kStays = 1.10;

/// `keep`, made with the same options of verification, is left with the proof of the routes that
/// were taken, so that changes to them are verified by difference.
Choice choose_routes(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                     const ChoiceOptions& options, const tables::VerifyOptions& verify,
                     const Before& before = {}, tables::Verifier* keep = nullptr);

/// Engines that suit the fabric, in the order in which they are tried. Comparing ends when routes
/// are perfect (is_perfect), or when one passes and the rest would take too long.
std::vector<std::string> default_engines(const fabric::CompactGraph& graph);

/// An error of kind Usage names the first that does not exist, and what there is.
Result<void> check_engine_names(std::span<const std::string> names);

/// `ftree,updn no_fallback`: names into `engines`, in place of those there are, and the word that
/// forbids others into `no_fallback`. An error is of kind Usage.
Result<void> read_engine_list(std::string_view list, ChoiceOptions& choice);

/// Of two verdicts that both fail: fewer credit loops are not bought with lost pairs, nor the
/// other way round. True when `a` loses fewer pairs than `b` and has no credit loops `b` has not.
bool fails_less(const tables::Verdict& a, const tables::Verdict& b);

}  // namespace ib::route
