// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The option table on a command line.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "libdiag/cli/command_line.h"
#include "sm/config/configuration.h"

namespace sm::config {

/// Options of the table. Outlives the reading of the words.
class CommandWords {
 public:
  void add_to(ib::cli::CommandLine& line);
  /// Those that decide what is planned: LIDs, links, partitions, QoS and routing.
  void add_those_of_plans_to(ib::cli::CommandLine& line);
  /// What the words said, on top of what `to` has.
  void apply(Configuration& to) const;

 private:
  void add(ib::cli::CommandLine& line, const Row& row, const std::string& help);

  std::map<const Row*, std::string> values_;
  std::map<const Row*, unsigned> actions_;
};

/// What is asked for about the options themselves. Outlives the reading of the words.
struct Requests {
  std::optional<std::string> file;    // -F
  std::optional<std::string> create;  // -c; empty: the cache file, and go on
  std::optional<std::string> show;    // --show-config: text or json
  bool dry_run{false};
  bool check{false};
  std::string against;                      // a topology, with `check` or `explain`; empty: none
  std::vector<std::string> explain;         // --explain-policy: the two ends, or none
  std::optional<std::uint64_t> service_id;  // with it: of what traffic
  std::optional<std::uint16_t> p_key, qos_class;
  bool json{false};

  void add_to(ib::cli::CommandLine& line);
};

}  // namespace sm::config
