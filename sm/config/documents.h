// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What people read of the option table: the values in force, the table of doc/configuration.md, the
// list of keys in ibsm(8), the completion of bash.
#pragma once

#include <string>

#include "sm/config/configuration.h"
#include "sm/policy/partitions.h"

namespace sm::config {

/// Every key with its value and where that comes from.
std::string show_text(const Configuration& configuration);
/// Partitions that a start would begin with.
struct ShownPartitions {
  const policy::Partitions* of{nullptr};  // nullptr: they cannot be told
  std::string file;                       // empty: there is none
};
/// A line for each, as a comment.
std::string show_text(const ShownPartitions& partitions);
/// `added_members`: the document of `ibsm ctl partition list --json`, or empty.
std::string show_json(const Configuration& configuration, const std::string& version,
                      const ShownPartitions& partitions = {},
                      const std::string& added_members = {});

/// The tables of doc/configuration.md, the list of keys in ibsm(8), and the completion of bash, as
/// `IBKIT_REWRITE=1 build/tests/sm_config_test` writes them.
std::string markdown_table();
std::string man_page_list();
std::string bash_completion();

}  // namespace sm::config
