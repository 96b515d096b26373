// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What engines would make of a fabric, held against what is programmed. Nothing is written to it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libdiag/route/choose.h"
#include "libdiag/route/files.h"
#include "libdiag/route/what_if.h"
#include "tools/common/command_line.h"
#include "tools/ibroutes/source.h"

namespace ib::tools {

struct CompareOptions {
  std::vector<std::string> engines;  // empty: all
  route::OptionFiles files;          // of routing
  unsigned vls_max{8};
  route::Options engine;            // what no file says
  route::WhatIf what_if;            // engines route the fabric without these
  std::optional<std::uint8_t> lmc;  // as if the hosts had LIDs of this LMC; none: as they have
  std::function<double()> clock;    // seconds; empty: nothing is timed
  std::function<void(const std::string&)> warn;  // of a file that says nothing
};

struct Comparison {
  std::vector<route::Tried> rows;
  std::vector<std::string> notes;  // what was left out
};

/// --without, --damage, --lmc and the options of engines that are no files.
class PlannedWords {
 public:
  void add_to(CommandLine& line);
  void put_into(CompareOptions& options) const;

 private:
  std::string without_;
  unsigned damage_{0}, lmc_{kAsIs};
  std::uint64_t seed_{1};
  unsigned scatter_{0}, lash_start_vl_{0}, nue_max_num_vls_{0};
  static constexpr unsigned kAsIs = 8;
};

/// --root_guid_file and the others, with opensm's names. Their letters mean other things here.
void add_option_files(CommandLine& line, route::OptionFiles& files);

/// The first row is what is programmed, on `lanes`, with nothing left out. An error is of kind
/// Usage and names a file and what is wrong in it, or says that the fabric has no LIDs yet.
Result<Comparison> compare(const Source& source, const fabric::CompactGraph& graph,
                           const routes::Lanes& lanes, const CompareOptions& options);

std::string comparison_json(const Source& source, const Comparison& comparison,
                            const std::string& version);

/// Seconds since whenever.
double seconds_now();

}  // namespace ib::tools
