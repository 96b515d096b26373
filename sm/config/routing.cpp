// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/config/routing.h"

namespace sm::config {

Routing routing(const Settings& s) {
  using ib::route::OptionFile;
  Routing out;
  // Checked when it was read; an empty list is the choice by the fabric.
  if (!s.routing_engine.empty())
    static_cast<void>(ib::route::read_engine_list(s.routing_engine, out.choice));
  out.choice.allow_credit_loops = s.allow_credit_loops;
  out.choice.vls_max = static_cast<unsigned>(s.vls_max);
  auto& engine = out.choice.engine;
  engine.connect_roots = s.connect_roots;
  engine.max_reverse_hops = static_cast<unsigned>(s.max_reverse_hops);
  engine.scatter_seed = static_cast<std::uint32_t>(s.scatter_ports);
  engine.do_mesh_analysis = s.do_mesh_analysis;
  engine.lash_start_vl = static_cast<unsigned>(s.lash_start_vl);
  engine.nue_max_num_vls = static_cast<unsigned>(s.nue_max_num_vls);
  engine.nue_include_switches = s.nue_include_switches;
  const std::pair<OptionFile, const std::string*> files[] = {
      {OptionFile::Roots, &s.root_guid_file},
      {OptionFile::ComputeNodes, &s.cn_guid_file},
      {OptionFile::IoNodes, &s.io_guid_file},
      {OptionFile::Ids, &s.ids_guid_file},
      {OptionFile::Ignored, &s.port_prof_ignore_file},
      {OptionFile::HopWeights, &s.hop_weights_file},
      {OptionFile::PortSearchOrder, &s.port_search_ordering_file},
      {OptionFile::GuidRoutingOrder, &s.guid_routing_order_file},
      {OptionFile::NoHosts, &s.no_host_guid_file},
      {OptionFile::Torus, &s.torus_config},
      {OptionFile::Lfts, &s.lfts_file},
      {OptionFile::LidMatrix, &s.lid_matrix_file}};
  for (const auto& [which, path] : files)
    if (!path->empty()) out.files[which] = *path;
  return out;
}

plan::PlanOptions plan_options(const Settings& s) {
  const auto byte = [](std::uint64_t value) { return static_cast<std::uint8_t>(value); };
  plan::PlanOptions out;
  out.lmc = byte(s.lmc);
  out.lmc_enhanced_port0 = s.lmc_esp0;
  out.reassign_lids = s.reassign_lids;
  out.qos = s.qos;
  out.subnet_prefix = s.subnet_prefix;
  if (s.sm_sl) out.sm_sl = ib::Sl{byte(*s.sm_sl)};
  out.subnet_timeout = byte(s.subnet_timeout);
  out.packet_life_time = byte(s.packet_life_time);
  out.hoq_life = byte(s.head_of_queue_lifetime);
  out.leaf_hoq_life = byte(s.leaf_head_of_queue_lifetime);
  out.vl_stall_count = byte(s.vl_stall_count);
  out.leaf_vl_stall_count = byte(s.leaf_vl_stall_count);
  out.phy_errors = byte(s.local_phy_errors_threshold);
  out.overrun_errors = byte(s.overrun_errors_threshold);
  out.operational_vls_max = byte(s.max_op_vls);
  const auto forced = [&](const std::optional<std::uint64_t>& value) {
    return value ? std::optional(byte(*value)) : std::nullopt;
  };
  out.link_force = {forced(s.force_link_speed), forced(s.force_link_speed_ext),
                    forced(s.force_link_width), std::nullopt};
  if (s.fdr10 && *s.fdr10 != 0) out.link_force.fdr10 = *s.fdr10 == 1;
  out.suppress_multicast_p_key_traps = s.suppress_mc_pkey_traps != 0;
  return out;
}

}  // namespace sm::config
