// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The judges of routing tables that are not ours: lftcheck.py, where it lies beside the project
// (../shared/bench, or beside $IBKIT_FABRICS), and ibdmchk of Debian's ibutils.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "libdiag/fabric/graph.h"
#include "libdiag/tables/tables.h"

namespace ib::judge {

/// Real fabrics (*.topo) where they are present.
std::vector<std::filesystem::path> real_fabrics();

struct Figures {
  std::uint64_t pairs{}, unreachable{}, loops{}, extra_hops{}, credit_loop_channels{}, load_max{};
  double load_mean{};  // one decimal
};
/// What lftcheck.py says; nullopt where it is not present. Aborts the test when it fails.
std::optional<Figures> lftcheck(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                                const tables::LinearTables& tables);

/// A folder of its own under the system's temporary folder, removed at the end.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::filesystem::path operator/(const char* name) const { return dir_ / name; }

 private:
  std::filesystem::path dir_;
};

void write_file(const std::filesystem::path& path, const std::string& text);
std::string read_file(const std::filesystem::path& path);
/// Standard output and error of a command; its exit status is not looked at.
std::string output_of(const std::string& command);

}  // namespace ib::judge
