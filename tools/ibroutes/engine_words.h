// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The words of `ibroutes plan` and `ibroutes compare` that say what is to be routed, and how.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "libdiag/cli/command_line.h"
#include "libdiag/route/files.h"
#include "libdiag/route/plan.h"
#include "tools/ibroutes/source.h"

namespace ib::tools {

class EngineWords {
 public:
  /// --vls, --without, --damage, --lmc, options of engines and their files, with opensm's names.
  /// Their letters mean other things here.
  void add_to(cli::CommandLine& line);

  /// What the words say but for the engines themselves, for the fabric of `source`. An error of
  /// kind Usage names an option, or a file and what is wrong in it, or says that there is no
  /// switch. `warn` is told of a file that says nothing.
  Result<route::PlanOptions> read(const Source& source,
                                  const std::function<void(const std::string&)>& warn) const;

  /// Whether engine `file` would have something to read.
  bool has_tables() const;
  /// Whether the fabric is routed as it is: nothing left out, no other LIDs.
  bool as_it_is() const;

 private:
  void add_files(cli::CommandLine& line);

  static constexpr unsigned kAsIs = 8;
  route::OptionFiles files_;
  std::string without_, damage_{"0"};
  std::uint64_t seed_{1};
  unsigned vls_max_{8}, lmc_{kAsIs};
  unsigned scatter_{0}, lash_start_vl_{0}, nue_max_num_vls_{0};
};

}  // namespace ib::tools
