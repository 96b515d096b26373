// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/option_use.h"

#include <algorithm>

namespace ib::route {
namespace {

/// A chain uses whatever one of its steps may use.
constexpr OptionUse kUses[] = {
    {"--root_guid_file", [](const Options& o) { return !o.roots.empty(); },
     " updn ftree valley nue chain "},
    {"--ids_guid_file", [](const Options& o) { return !o.ids.empty(); },
     " updn dnup ftree valley nue chain "},
    // Tops reach one another in any case.
    {"--connect_roots", [](const Options& o) { return o.connect_roots; }, " "},
    {"--cn_guid_file", [](const Options& o) { return !o.compute_nodes.empty(); },
     " ftree sssp dfsssp nue chain "},
    {"--io_guid_file", [](const Options& o) { return !o.io_nodes.empty(); },
     " ftree sssp dfsssp nue chain "},
    // Every host is reached by climbing and descending, wherever it hangs.
    {"--max_reverse_hops", [](const Options& o) { return o.max_reverse_hops != 0; }, " "},
    {"--ignore_guids", [](const Options& o) { return !o.ignored.empty(); },
     " minhop updn dnup ftree dor sssp dfsssp lash torus-2QoS nue dfp valley file chain "},
    {"--hop_weights_file", [](const Options& o) { return !o.hop_weights.empty(); },
     " minhop dfp file chain "},
    {"--port_search_ordering_file", [](const Options& o) { return !o.port_search_order.empty(); },
     " minhop updn dnup dor sssp dfsssp lash torus-2QoS nue dfp valley file chain "},
    {"--scatter-ports", [](const Options& o) { return o.scatter_seed != 0; },
     " minhop updn dnup dor sssp dfsssp lash torus-2QoS nue dfp valley file chain "},
    {"--guid_routing_order_file", [](const Options& o) { return !o.guid_routing_order.empty(); },
     " minhop updn dnup ftree dor sssp dfsssp lash torus-2QoS nue dfp valley file chain "},
    {"--no_host_guid_file", [](const Options& o) { return !o.no_hosts.empty(); },
     " minhop updn dnup ftree dor sssp dfsssp lash torus-2QoS nue dfp valley file chain "},
    // Grids are looked for in any case.
    {"--do_mesh_analysis", [](const Options& o) { return o.do_mesh_analysis; }, " "},
    {"--lash_start_vl", [](const Options& o) { return o.lash_start_vl != 0; }, " lash chain "},
    {"--nue_max_num_vls", [](const Options& o) { return o.nue_max_num_vls != 0; }, " nue chain "},
    // Paths of switches are kept free of credit loops as far as possible in any case.
    {"--nue_include_switches", [](const Options& o) { return o.nue_include_switches; }, " "},
    {"--torus_config", [](const Options& o) { return o.torus.has_value(); }, " torus-2QoS chain "},
    {"--lfts_file",
     [](const Options& o) { return o.tables != nullptr && !o.tables->lfts_file.empty(); },
     " file chain "},
    {"--lid_matrix_file",
     [](const Options& o) { return o.tables != nullptr && !o.tables->lid_matrix_file.empty(); },
     " file chain "},
    {"rch_policy_file", [](const Options& o) { return o.chain != nullptr; }, " chain "},
};

}  // namespace

bool OptionUse::used_by(std::string_view engine) const {
  return engines.find(' ' + std::string(engine) + ' ') != std::string_view::npos;
}

std::span<const OptionUse> option_uses() { return kUses; }

std::string unused_options(const Options& options, std::string_view engine,
                           std::span<const std::string> named) {
  std::string names;
  for (const OptionUse& use : kUses) {
    if (!use.given(options) || use.used_by(engine) ||
        std::any_of(named.begin(), named.end(), [&](const auto& n) { return use.used_by(n); }))
      continue;
    names.append(names.empty() ? "" : ", ").append(use.name);
  }
  if (names.empty()) return names;
  const bool several = names.find(',') != std::string::npos;
  return names + (several ? " have" : " has") + " no effect with routing engine " +
         std::string(engine);
}

}  // namespace ib::route
