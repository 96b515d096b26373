// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <array>
#include <string>

#include "libdiag/route/choose/choose.h"
#include "sm/config/rows.h"

namespace sm::config {
namespace {

using S = Settings;

ib::Result<void> check_engines(std::string_view list) {
  ib::route::ChoiceOptions choice;
  return ib::route::read_engine_list(std::string(list), choice);
}

constexpr std::array kRouting = {
    text(
        "-R,--routing_engine", "routing_engine", &S::routing_engine, "LIST",
        "Routing engines, tried in order; with no_fallback no others (default: chosen by topology)",
        check_engines),
    flag("--allow-credit-loops", "allow_credit_loops", &S::allow_credit_loops,
         "Program routes that can deadlock, with a warning at every sweep"),
    number("--vls-max,--vls", "vls_max", &S::vls_max, 1, 15,
           "Data VLs that routing may use (default 8)"),
    text("-a,--root_guid_file", "root_guid_file", &S::root_guid_file, "FILE",
         "GUIDs of the root switches: updn, ftree, valley, nue")
        .contents_on_reload(),
    text("-u,--cn_guid_file", "cn_guid_file", &S::cn_guid_file, "FILE",
         "Port GUIDs of compute nodes: ftree, (df)sssp")
        .contents_on_reload(),
    text("-G,--io_guid_file", "io_guid_file", &S::io_guid_file, "FILE",
         "Port GUIDs of I/O nodes: ftree, (df)sssp")
        .contents_on_reload(),
    text("-m,--ids_guid_file", "ids_guid_file", &S::ids_guid_file, "FILE",
         "Numbers that replace switch GUIDs in comparisons: updn, dnup, ftree, valley, nue")
        .contents_on_reload(),
    text("-i,--ignore_guids", "port_prof_ignore_file", &S::port_prof_ignore_file, "FILE",
         "Ports whose load is not counted")
        .contents_on_reload(),
    text("-w,--hop_weights_file", "hop_weights_file", &S::hop_weights_file, "FILE",
         "Cost of a hop, by switch and port: minhop, dfp")
        .contents_on_reload(),
    text("-O,--port_search_ordering_file,--dimn_ports_file",
         "port_search_ordering_file,dimn_ports_file", &S::port_search_ordering_file, "FILE",
         "Order in which ports of a switch are searched; for dor, the order of the dimensions")
        .contents_on_reload(),
    text("-X,--guid_routing_order_file", "guid_routing_order_file", &S::guid_routing_order_file,
         "FILE", "Port GUIDs that are routed first")
        .contents_on_reload(),
    text("--no_host_guid_file", "no_host_guid_file", &S::no_host_guid_file, "FILE",
         "Node or port GUIDs behind which no host is, as behind aggregation nodes")
        .contents_on_reload(),
    text("--torus_config", "torus_config", &S::torus_config, "FILE", "torus-2QoS.conf")
        .opensm_has("/etc/opensm/torus-2QoS.conf")
        .contents_on_reload(),
    text("-U,--lfts_file,--ucast_file", "lfts_file,ucast_dump_file", &S::lfts_file, "FILE",
         "Forwarding tables: engine file")
        .contents_on_reload(),
    text("-M,--lid_matrix_file", "lid_matrix_dump_file", &S::lid_matrix_file, "FILE",
         "Hop counts: engine file")
        .contents_on_reload(),
    flag("-z,--connect_roots", "connect_roots", &S::connect_roots,
         "Make the root switches mutually reachable")
        .no_effect("root switches are always mutually reachable, without a credit loop"),
    number("-H,--max_reverse_hops", "max_reverse_hops", &S::max_reverse_hops, 0, 64,
           "Hops in the reverse direction on paths to I/O nodes")
        .no_effect("ftree always reaches I/O nodes"),
    number("--scatter-ports", "scatter_ports", &S::scatter_ports, 0, UINT32_MAX,
           "Seed for a random choice among equally loaded ports; 0: no random choice (default)"),
    flag("--do_mesh_analysis", "do_mesh_analysis", &S::do_mesh_analysis, "lash: mesh analysis")
        .no_effect("lash always analyses the mesh"),
    number("--lash_start_vl", "lash_start_vl", &S::lash_start_vl, 0, 14,
           "First VL that lash uses (default 0)"),
    number("--nue_max_num_vls", "nue_max_num_vls", &S::nue_max_num_vls, 0, 15,
           "Maximum number of VLs for nue; 0: all (default)")
        .opensm_has("1"),
    flag("--nue_include_switches", "nue_include_switches", &S::nue_include_switches,
         "nue: include paths of switches")
        .no_effect("nue always includes paths of switches, as far as possible"),
    flag("-A,--ucast_cache", "use_ucast_cache", {},
         "Cache routes while links go down and come back")
        .opensm_has("FALSE")
        .no_effect("routes are always updated by difference, and no entry changes needlessly"),
    flag("--port-shifting", "port_shifting", {}, "Shift candidate ports")
        .opensm_has("FALSE")
        .no_effect("LIDs are spread so that they do not line up"),
    flag("--guid_routing_order_no_scatter", "guid_routing_order_no_scatter", {},
         "Do not scatter what --guid_routing_order_file lists")
        .opensm_has("FALSE")
        .no_effect("what is routed first is not scattered"),
    truth("", "port_profile_switch_nodes", {}, "Count LIDs of switches in the load of ports")
        .opensm_has("FALSE")
        .no_effect("switches send next to nothing, so their LIDs are not counted"),
    truth("", "avoid_throttled_links", {}, "Leave out links below their best speed")
        .opensm_has("FALSE")
        .no_effect("a link gets a share of the load that suits its speed and width"),
    truth("", "quasi_ftree_indexing", {}, "ftree numbers switches from the roots")
        .opensm_has("FALSE")
        .no_effect("ftree determines the places of switches"),
    text("", "topo_policy_file", &S::topo_policy_file, "FILE",
         "Parts of the fabric, by port groups: engine chain")
        .contents_on_reload(),
    text("", "rch_policy_file", &S::rch_policy_file, "FILE",
         "Engines for parts of the fabric, one after the other: engine chain")
        .contents_on_reload(),
    truth("", "offsweep_balancing_enabled", &S::offsweep_balancing_enabled,
          "Balance routes that followed changes, when nothing has changed for a while")
        .on_reload(),
    number("", "offsweep_balancing_window", &S::offsweep_balancing_window, 0, UINT32_MAX,
           "Seconds without a change before routes are balanced (default 180)")
        .in("s")
        .on_reload(),
};

}  // namespace

std::vector<Part> routing_rows() { return {{Section::Routing, kRouting}}; }

}  // namespace sm::config
