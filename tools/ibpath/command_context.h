// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// CommandContext: what every command of ibpath works with: the options, the SA, where output goes.
// A command reads its arguments first and returns a Job, so that wrong ones are told before there
// is a fabric.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libdiag/cli/common_options.h"
#include "libdiag/fabric/names.h"
#include "libdiag/query/sa_client.h"
#include "tools/common/connection.h"
#include "tools/common/target.h"

namespace ibpath {

inline constexpr const char* kProgram = "ibpath";
inline constexpr const char* kSchema = "ibkit.ibpath/2";
/// ibsm's status for all paths of a large subnet without the SA key (doc/sa.md).
inline constexpr std::uint16_t kAllPathsDenied = 0x0003;

struct Options {
  ib::cli::CommonOptions common;
  // Outside their ranges: not asked for.
  unsigned numb_path{0}, sl{16}, p_key{0x10000}, qos_class{0x1000};
  std::optional<std::uint64_t> service_id;
  std::uint64_t sm_key{0}, m_key{0};
  std::string sm_key_file;
  std::string node_name_map;
  bool reversible{false};
  bool keys{false};
};

/// The end of a job and its exit status, or why there is none.
class CommandContext;
using Job = std::function<ib::Result<int>(CommandContext&)>;
using Words = std::span<const std::string>;

class CommandContext {
 public:
  CommandContext(const Options& options, ib::tools::Connection& connection,
                 const ib::query::SaAddress& address, ib::fabric::NodeNames names = {});

  const Options& options() const { return options_; }
  ib::mad::Session& session() { return connection_.session(); }
  const ib::mad::PortFacts& facts() const { return connection_.facts(); }
  ib::query::SaClient& sa() { return sa_; }
  /// Of the node-name map.
  const ib::fabric::NodeNames& names() const { return names_; }

  /// A table; that there are no records is an empty one, whether the SA says so by a status or not.
  template <class Record>
  ib::Result<std::vector<Record>> table(const Record& wanted, std::uint64_t mask,
                                        std::uint32_t modifier = 0) {
    auto found = sa_.get_table(wanted, mask, modifier);
    if (!found && is_none(found.error())) return std::vector<Record>{};
    return found;
  }

  /// Whether a refusal says that there are no such records: that there are none, or that a GID is
  /// not of this subnet and nothing leads to its own.
  bool is_none(const ib::Error& error);
  /// Says on stderr that nothing was found, and what the SA said of the GIDs; exit status 1.
  int found_nothing(const std::string& what) const;

  /// LIDs of the ports a target means, the first one of each.
  ib::Result<std::vector<ib::Lid>> lids(const ib::tools::Target& target);

 private:
  const Options& options_;
  ib::tools::Connection& connection_;
  ib::query::SaClient sa_;
  ib::fabric::NodeNames names_;
  std::string about_gids_;
};

/// To standard output.
void print(const std::string& text);

}  // namespace ibpath
