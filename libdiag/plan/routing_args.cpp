// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/plan/routing_args.h"

namespace ib::plan {
namespace {

using Choice = route::ChoiceOptions;
using route::OptionFile;

constexpr RoutingOption file(std::string_view names, OptionFile which, std::string_view help) {
  RoutingOption option;
  option.names = names, option.help = help, option.file = which;
  return option;
}
constexpr RoutingOption number(std::string_view names, std::uint64_t min, std::uint64_t max,
                               void (*take)(Choice&, std::uint64_t), std::string_view help) {
  RoutingOption option;
  option.names = names, option.help = help, option.min = min, option.max = max;
  option.number = take;
  return option;
}
constexpr RoutingOption flag(std::string_view names, void (*take)(Choice&, bool),
                             std::string_view help) {
  RoutingOption option;
  option.names = names, option.help = help, option.flag = take;
  return option;
}
unsigned small(std::uint64_t value) { return static_cast<unsigned>(value); }

constexpr RoutingOption kOptions[] = {
    flag(
        "--allow-credit-loops", [](Choice& c, bool on) { c.allow_credit_loops = on; },
        "Accept routes that can deadlock"),
    number(
        "--vls-max,--vls", 1, 15, [](Choice& c, std::uint64_t v) { c.vls_max = small(v); },
        "Data VLs that routing may use (default 8)"),
    file("-a,--root_guid_file", OptionFile::Roots,
         "GUIDs of the root switches: updn, ftree, valley, nue"),
    file("-u,--cn_guid_file", OptionFile::ComputeNodes,
         "Port GUIDs of compute nodes: ftree, (df)sssp"),
    file("-G,--io_guid_file", OptionFile::IoNodes, "Port GUIDs of I/O nodes: ftree, (df)sssp"),
    file("-m,--ids_guid_file", OptionFile::Ids,
         "Numbers that replace switch GUIDs in comparisons: updn, dnup, ftree, valley, nue"),
    file("-i,--ignore_guids", OptionFile::Ignored, "Ports whose load is not counted"),
    file("-w,--hop_weights_file", OptionFile::HopWeights,
         "Cost of a hop, by switch and port: minhop, dfp"),
    file("-O,--port_search_ordering_file,--dimn_ports_file", OptionFile::PortSearchOrder,
         "Order in which ports of a switch are searched; for dor, the order of the dimensions"),
    file("-X,--guid_routing_order_file", OptionFile::GuidRoutingOrder,
         "Port GUIDs that are routed first"),
    file("--no_host_guid_file", OptionFile::NoHosts,
         "Node or port GUIDs behind which no host is, as behind aggregation nodes"),
    file("--torus_config", OptionFile::Torus, "torus-2QoS.conf"),
    file("-U,--lfts_file,--ucast_file", OptionFile::Lfts, "Forwarding tables: engine file"),
    file("-M,--lid_matrix_file", OptionFile::LidMatrix, "Hop counts: engine file"),
    flag(
        "-z,--connect_roots", [](Choice& c, bool on) { c.engine.connect_roots = on; },
        "Accepted for opensm compatibility; no effect (root switches are always mutually "
        "reachable)"),
    number(
        "-H,--max_reverse_hops", 0, 64,
        [](Choice& c, std::uint64_t v) { c.engine.max_reverse_hops = small(v); },
        "Accepted for opensm compatibility; no effect (ftree always reaches I/O nodes)"),
    number(
        "--scatter-ports", 0, UINT32_MAX,
        [](Choice& c, std::uint64_t v) { c.engine.scatter_seed = static_cast<std::uint32_t>(v); },
        "Seed for a random choice among equally loaded ports; 0: no random choice (default)"),
    flag(
        "--do_mesh_analysis", [](Choice& c, bool on) { c.engine.do_mesh_analysis = on; },
        "Accepted for opensm compatibility; no effect (lash always analyses the mesh)"),
    number(
        "--lash_start_vl", 0, 14,
        [](Choice& c, std::uint64_t v) { c.engine.lash_start_vl = small(v); },
        "First VL that lash uses (default 0)"),
    number(
        "--nue_max_num_vls", 0, 15,
        [](Choice& c, std::uint64_t v) { c.engine.nue_max_num_vls = small(v); },
        "Maximum number of VLs for nue; 0: all (default)"),
    flag(
        "--nue_include_switches", [](Choice& c, bool on) { c.engine.nue_include_switches = on; },
        "Accepted for opensm compatibility; no effect (nue always includes switches)"),
    flag(
        "-A,--ucast_cache", [](Choice&, bool) {},
        "Accepted for opensm compatibility; no effect (no entry changes needlessly)"),
    flag(
        "--port-shifting", [](Choice&, bool) {},
        "Accepted for opensm compatibility; no effect (LIDs are always spread)"),
    flag(
        "--guid_routing_order_no_scatter", [](Choice&, bool) {},
        "Accepted for opensm compatibility; no effect (ports that are routed first are not "
        "scattered)"),
};

}  // namespace

std::span<const RoutingOption> routing_options() { return kOptions; }

void RoutingArgs::add_to(cli::CommandLine& line) {
  line.option("-R,--routing_engine", "LIST",
              "Routing engines, tried in order; with no_fallback no others (default: chosen by "
              "topology)",
              [this](const std::string& list) { return route::read_engine_list(list, choice_); });
  for (const RoutingOption& option : kOptions) {
    const std::string names(option.names), help(option.help);
    if (option.file)
      line.option(names, "FILE", help,
                  [this, which = *option.file](const std::string& path) -> Result<void> {
                    if (!path.empty()) files_[which] = path;
                    return {};
                  });
    else if (option.number != nullptr)
      line.number(names, {option.min, option.max}, help,
                  [this, take = option.number](std::uint64_t value) { take(choice_, value); });
    else
      line.flag(names, help, [this, take = option.flag](bool on) { take(choice_, on); });
  }
}

Result<RoutingArgs::Read> RoutingArgs::read() const {
  Read out{choice_, {}};
  auto read = route::read_option_files(files_, out.choice.engine);
  if (!read) return tl::unexpected<Error>(std::move(read.error()));
  out.choice.engine = std::move(read->options);
  out.mentions = std::move(read->mentions);
  return out;
}

}  // namespace ib::plan
