// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Where files are that no option names. Started under the name opensm (a link), ibsm takes
// opensm's: upstream's first, then Debian's, then OFA's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"
#include "sm/config/configuration.h"

namespace sm::daemon {

/// Of lists, the first that exists counts.
struct DefaultPaths {
  std::vector<std::string> options;
  std::vector<std::string> prefix_routes;
  std::vector<std::string> qos_policy;
  std::vector<std::string> partitions;
  std::vector<std::string> node_names;
  std::vector<std::string> adaptive_routing;  // the armgr file
  std::string state_dir;
  std::string log_file;        // empty: LogFile's own
  std::string dump_files_dir;  // empty: dump_directory() decides
};

/// `program` is argv[0]. `said` has the state directory, where the command line names one.
DefaultPaths default_paths(std::string_view program, const config::Settings& said);

/// Of `ibsm ctl`, where the options name no other.
std::string control_socket(const DefaultPaths& paths);

/// Whether the name is taken. A link that leads nowhere and what may not be looked at are there:
/// they cannot be read, which is something else than that nobody wrote such a file.
bool is_there(const std::string& path);
/// "" where none of the list is there.
std::string first_there(const std::vector<std::string>& paths);

/// Where dump files go; empty: none are written. `routing`: --log_flags asks for them.
std::string dump_directory(const config::Settings& said, bool routing);

/// Puts defaults where nothing was said.
void fill_in(const DefaultPaths& paths, config::Settings& settings);

}  // namespace sm::daemon
