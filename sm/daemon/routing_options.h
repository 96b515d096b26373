// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The options of routing, which `ibsm` and `ibsm plan` share: letters and names as opensm has them.
// (CLI11 stays behind the .cpp files.)
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "libdiag/route/choose.h"
#include "libdiag/route/files.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sm::daemon {

/// What the command line says about routing; files are read once all of it is known.
struct RoutingWords {
  ib::route::ChoiceOptions choice;
  ib::route::OptionFiles files;
};

void add_routing_options(CLI::App& app, RoutingWords& words);

/// `ftree,updn no_fallback`: names and the word that forbids others. What it throws is CLI11's.
void read_engines(const std::string& option, const std::string& list,
                  ib::route::ChoiceOptions& choice);

/// An option with a number from `min` to `max`: "--sweep: expected a number from 0 to 4294, ...".
/// The help says the range too.
CLI::Option* number(CLI::App& app, const std::string& names, std::uint64_t min, std::uint64_t max,
                    const std::string& what, const std::string& help,
                    const std::function<void(std::uint64_t)>& take);

/// An option that takes TRUE or FALSE, as opensm's option file has them.
void truth(CLI::App& app, const std::string& name, bool& to, const std::string& help);

}  // namespace sm::daemon
