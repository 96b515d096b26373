// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Configuration: the settings in force, and where each of them comes from. The command line comes
// before the file, the file before the default.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libdiag/base/diagnostic.h"
#include "sm/config/row.h"

namespace sm::config {

struct Origin {
  enum class From { Default, File, CommandLine };
  From from{From::Default};
  std::uint32_t line{0};  // of the file
  std::string value;      // as it was written
};

struct Configuration {
  Settings settings;
  std::string file;                      // that was read; empty: none
  std::map<const Row*, Origin> origins;  // of what was said; all else is a default

  Origin origin(const Row& row) const;
};

/// Reads an options file on top of the defaults: lines of `key value`, `key=value` or
/// `key = value`, # comments. What is wrong goes to `problems`, each with its place; a line with an
/// error changes nothing.
void read_options_text(std::string_view text, const std::string& file, Configuration& to,
                       std::vector<ib::Diagnostic>& problems);

/// An options file with every key, its meaning and its value in force: what -c writes.
std::string options_text(const Configuration& configuration);

/// What was said and has no effect, or not yet, a line each: "m_key: not supported yet: ...".
std::vector<std::string> without_effect(const Configuration& configuration);

/// What a reload makes of `running`: `fresh`, but for options that take a restart.
struct Reloaded {
  Configuration configuration;
  std::vector<std::string> waiting;  // keys of options that changed and wait for a restart
};
Reloaded reloaded(const Configuration& running, Configuration fresh);

}  // namespace sm::config
