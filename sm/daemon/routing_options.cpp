// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/routing_options.h"

#include <CLI/CLI.hpp>

#include "libdiag/base/text.h"

namespace sm::daemon {

void read_engines(const std::string& option, const std::string& list,
                  ib::route::ChoiceOptions& choice) {
  if (const auto read = ib::route::read_engine_list(list, choice); !read)
    throw CLI::ValidationError(option + ": " + read.error().message);
}

CLI::Option* number(CLI::App& app, const std::string& names, std::uint64_t min, std::uint64_t max,
                    const std::string& what, const std::string& help,
                    const std::function<void(std::uint64_t)>& take) {
  const std::string name = names.substr(names.rfind(',') + 1);
  return app
      .add_option_function<std::string>(
          names,
          [=](const std::string& text) {
            std::uint64_t value = 0;
            if (!ib::parse_number(text, max, value) || value < min)
              throw CLI::ValidationError(name + ": expected " + what + " from " +
                                         std::to_string(min) + " to " + std::to_string(max) +
                                         ", got '" + ib::printable(text) + "'");
            take(value);
          },
          max == UINT64_MAX ? help
                            : help + "; " + std::to_string(min) + " to " + std::to_string(max))
      ->type_name("N")
      ->expected(1);
}

void truth(CLI::App& app, const std::string& name, bool& to, const std::string& help) {
  app.add_option_function<std::string>(
         name,
         [name, &to](const std::string& text) {
           if (text != "TRUE" && text != "true" && text != "FALSE" && text != "false")
             throw CLI::ValidationError(name + ": expected TRUE or FALSE, got '" +
                                        ib::printable(text) + "'");
           to = text == "TRUE" || text == "true";
         },
         help)
      ->type_name("BOOL");
}

void add_routing_options(CLI::App& app, RoutingWords& words) {
  using ib::route::OptionFile;
  auto& choice = words.choice;
  auto& engine = choice.engine;
  app.add_option_function<std::string>(
         "-R,--routing_engine",
         [&](const std::string& text) { read_engines("--routing_engine", text, choice); },
         "Routing engines, tried in order; with no_fallback no others (default: by the fabric)")
      ->type_name("LIST");
  app.add_flag("--allow-credit-loops", choice.allow_credit_loops,
               "Program routes that can deadlock; said at every sweep");
  number(app, "--vls-max", 1, 15, "a number", "Data VLs that routing may use (default 8)",
         [&](std::uint64_t v) { choice.vls_max = static_cast<unsigned>(v); });

  const auto file = [&](const char* names, OptionFile which, const char* help) {
    app.add_option_function<std::string>(
           names, [&words, which](const std::string& path) { words.files[which] = path; }, help)
        ->type_name("FILE");
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

  app.add_flag("-z,--connect_roots", engine.connect_roots,
               "Taken and changes nothing: tops of a tree always reach one another");
  number(app, "-H,--max_reverse_hops", 0, 64, "a number",
         "Taken and changes nothing: ftree reaches I/O nodes wherever they hang",
         [&](std::uint64_t v) { engine.max_reverse_hops = static_cast<unsigned>(v); });
  number(app, "--scatter-ports", 0, 0xFFFFFFFF, "a number",
         "Seed to choose among equally loaded ports by chance; 0: do not (default)",
         [&](std::uint64_t v) { engine.scatter_seed = static_cast<std::uint32_t>(v); });
  app.add_flag("--do_mesh_analysis", engine.do_mesh_analysis,
               "Taken and changes nothing: lash always looks for dimensions");
  number(app, "--lash_start_vl", 0, 14, "a number", "First VL that lash uses (default 0)",
         [&](std::uint64_t v) { engine.lash_start_vl = static_cast<unsigned>(v); });
  number(app, "--nue_max_num_vls", 0, 15, "a number",
         "VLs that nue uses, at most; 0: all there are (default)",
         [&](std::uint64_t v) { engine.nue_max_num_vls = static_cast<unsigned>(v); });
  app.add_flag("--nue_include_switches", engine.nue_include_switches,
               "Taken and changes nothing: nue heeds paths of switches as far as it can");
}

}  // namespace sm::daemon
