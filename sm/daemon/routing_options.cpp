// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/routing_options.h"

namespace sm::daemon {

void add_routing_options(ib::cli::CommandLine& line, RoutingWords& words) {
  using ib::route::OptionFile;
  auto& choice = words.choice;
  auto& engine = choice.engine;
  line.option(
      "-R,--routing_engine", "LIST",
      "Routing engines, tried in order; with no_fallback no others (default: by the fabric)",
      [&](const std::string& text) { return ib::route::read_engine_list(text, choice); });
  line.flag("--allow-credit-loops", choice.allow_credit_loops,
            "Program routes that can deadlock; said at every sweep");
  line.number("--vls-max", {1, 15}, "Data VLs that routing may use (default 8)",
              [&](std::uint64_t v) { choice.vls_max = static_cast<unsigned>(v); });

  const auto file = [&](const char* names, OptionFile which, const char* help) {
    line.option(names, "FILE", help, [&words, which](const std::string& path) -> ib::Result<void> {
      words.files[which] = path;
      return {};
    });
  };
  file("-a,--root_guid_file", OptionFile::Roots, "GUIDs of the tops of a tree: updn, ftree, nue");
  file("-u,--cn_guid_file", OptionFile::ComputeNodes,
       "Port GUIDs of compute nodes: ftree, (df)sssp");
  file("-G,--io_guid_file", OptionFile::IoNodes, "Port GUIDs of I/O nodes: ftree, (df)sssp");
  file("-m,--ids_guid_file", OptionFile::Ids,
       "Numbers that stand for GUIDs of switches: updn, dnup, ftree, nue");
  file("-i,--ignore_guids", OptionFile::Ignored, "Ports whose load is not counted");
  file("-w,--hop_weights_file", OptionFile::HopWeights,
       "What a hop costs, by port of a switch: minhop, dfp");
  file("-O,--port_search_ordering_file,--dimn_ports_file", OptionFile::PortSearchOrder,
       "Order in which ports of a switch are looked at; for dor that of the dimensions");
  file("-X,--guid_routing_order_file", OptionFile::GuidRoutingOrder,
       "Port GUIDs that are routed first");
  file("--torus_config", OptionFile::Torus, "torus-2QoS.conf");
  file("-U,--lfts_file", OptionFile::Lfts, "Forwarding tables: engine file");
  file("-M,--lid_matrix_file", OptionFile::LidMatrix, "Hop counts: engine file");

  line.flag("-z,--connect_roots", engine.connect_roots,
            "Taken and changes nothing: tops of a tree always reach one another");
  line.number("-H,--max_reverse_hops", {0, 64},
              "Taken and changes nothing: ftree reaches I/O nodes wherever they hang",
              [&](std::uint64_t v) { engine.max_reverse_hops = static_cast<unsigned>(v); });
  line.number("--scatter-ports", {0, 0xFFFFFFFF},
              "Seed to choose among equally loaded ports by chance; 0: do not (default)",
              [&](std::uint64_t v) { engine.scatter_seed = static_cast<std::uint32_t>(v); });
  line.flag("--do_mesh_analysis", engine.do_mesh_analysis,
            "Taken and changes nothing: lash always looks for dimensions");
  line.number("--lash_start_vl", {0, 14}, "First VL that lash uses (default 0)",
              [&](std::uint64_t v) { engine.lash_start_vl = static_cast<unsigned>(v); });
  line.number("--nue_max_num_vls", {0, 15},
              "VLs that nue uses, at most; 0: all there are (default)",
              [&](std::uint64_t v) { engine.nue_max_num_vls = static_cast<unsigned>(v); });
  line.flag("--nue_include_switches", engine.nue_include_switches,
            "Taken and changes nothing: nue heeds paths of switches as far as it can");
}

}  // namespace sm::daemon
