// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// RoutingArgs: the options that say how a fabric is routed, with opensm's names and letters, for
// every program that plans routes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "libdiag/cli/command_line.h"
#include "libdiag/route/choose/choose.h"
#include "libdiag/route/files.h"

namespace ib::plan {

/// One option: its names ("-a,--root_guid_file"), and where its value goes.
struct RoutingOption {
  std::string_view names;
  std::string_view help;
  std::optional<route::OptionFile> file;  // it names this file
  std::uint64_t min{0}, max{0};           // of a number
  void (*number)(route::ChoiceOptions&, std::uint64_t){nullptr};
  void (*flag)(route::ChoiceOptions&, bool){nullptr};
};
std::span<const RoutingOption> routing_options();

class RoutingArgs {
 public:
  void add_to(cli::CommandLine& line);

  const route::ChoiceOptions& choice() const { return choice_; }
  /// choice() with what the files say, and what they mention. An error of kind Usage names the file
  /// and what is wrong in it.
  struct Read {
    route::ChoiceOptions choice;
    std::vector<route::Mentions> mentions;
  };
  Result<Read> read() const;

 private:
  route::ChoiceOptions choice_;
  route::OptionFiles files_;
};

}  // namespace ib::plan
