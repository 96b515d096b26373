// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Settings: what an operator decides about ibsm, one plain value for each option that has an
// effect. The initial values are the defaults. How an option is written is in the table (table.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sm::config {

/// Texts are empty, numbers without a default have no value, where nothing was said.
struct Settings {
  // ---- the port and this subnet manager
  std::string guid;
  bool force{false};
  std::uint64_t subnet_prefix{0xfe80000000000000};
  std::uint64_t sm_priority{0};
  std::uint64_t sm_key{1};
  std::optional<std::uint64_t> m_key, m_key_lease_period, m_key_protection_level;
  bool m_key_lookup{true};
  std::uint64_t master_sm_priority{0};
  bool sm_inactive{false};
  bool standby_needs_same_config{false};
  std::string allowed_sm_guids;
  std::uint64_t sminfo_polling_timeout{1000}, polling_retry_number{3};
  std::optional<std::uint64_t> sm_sl;
  bool once{false};

  // ---- LIDs
  std::uint64_t lmc{0};
  bool lmc_esp0{false};
  bool reassign_lids{false};
  bool honor_guid2lid{false};

  // ---- links
  std::uint64_t max_op_vls{5};
  std::uint64_t subnet_timeout{18};
  std::uint64_t packet_life_time{18};
  std::uint64_t vl_stall_count{7}, leaf_vl_stall_count{7};
  std::uint64_t head_of_queue_lifetime{18}, leaf_head_of_queue_lifetime{16};
  std::uint64_t local_phy_errors_threshold{8}, overrun_errors_threshold{8};
  std::optional<std::uint64_t> force_link_speed, force_link_speed_ext, force_link_width, fdr10;
  std::uint64_t suppress_mc_pkey_traps{1};
  bool use_mfttop{true};
  bool enable_quirks{false};
  std::uint64_t virt_enabled{0}, virt_max_ports_in_process{64}, virt_default_hop_limit{2};

  // ---- sweeps
  std::uint64_t sweep_interval{10};
  std::uint64_t full_sweep_interval{86400};
  std::uint64_t transaction_timeout{200};
  std::uint64_t max_wire_smps{256};
  bool force_heavy_sweep{false};
  std::uint64_t silent_host_sweeps{3}, silent_host_seconds{600};
  bool sweep_on_trap{true};
  bool babbling_port_policy{false};
  bool exit_on_fatal{false};

  // ---- routing
  std::string routing_engine;
  bool allow_credit_loops{false};
  bool offsweep_balancing_enabled{false};
  std::uint64_t offsweep_balancing_window{180};
  std::uint64_t vls_max{8};
  std::string root_guid_file, cn_guid_file, io_guid_file, ids_guid_file;
  std::string port_prof_ignore_file, hop_weights_file, port_search_ordering_file;
  std::string guid_routing_order_file, no_host_guid_file, torus_config, lfts_file, lid_matrix_file;
  std::string topo_policy_file, rch_policy_file;
  bool connect_roots{false};
  std::uint64_t max_reverse_hops{0};
  std::uint64_t scatter_ports{0};
  bool do_mesh_analysis{false};
  std::uint64_t lash_start_vl{0};
  std::uint64_t nue_max_num_vls{0};
  bool nue_include_switches{false};

  // ---- quality of service
  bool qos{false};

  // ---- subnet administration
  std::string sa_key{"1"};
  bool sa_enhanced_trust_model{false};
  bool sa_etm_allow_untrusted_guidinfo_rec{false};
  bool sa_etm_allow_untrusted_proxy_requests{true};
  std::uint64_t sa_etm_max_num_srvcs{32};
  std::uint64_t sa_etm_max_num_event_subs{32};
  std::uint64_t sa_etm_max_num_mcgs{1024};
  bool sa_check_sgid_spoofing{true};
  std::uint64_t sa_max_outstanding{16};
  std::uint64_t sa_queue_size{1024};
  std::uint64_t max_msg_fifo_timeout{2000};
  std::uint64_t rx_threshold{8192};
  bool mcgroup_join_validation{true};
  bool ipoib_mcgroup_creation_validation{true};
  bool consolidate_ipv6_snm_req{false};
  bool no_clients_rereg{false};
  bool disable_multicast{false};
  std::uint64_t sa_untrusted_records{10'000};
  bool use_original_extended_sa_rates_only{false};
  std::optional<std::uint64_t> max_rate_enum;
  std::string prefix_routes_file;
  std::string qos_policy_file, enhanced_qos_policy_file;
  std::string partition_config_file, pgrp_policy_file;
  bool no_partition_enforcement{false}, allow_both_pkeys{false}, keep_pkey_indexes{true};
  std::string part_enforce{"both"};
  std::uint64_t rtr_pr_flow_label{0}, rtr_pr_tclass{0}, rtr_pr_sl{0}, rtr_aguid_enable{0},
      rtr_pr_mtu{4}, rtr_pr_rate{16};

  // ---- what survives
  std::string state_dir;
  std::string store;  // empty: the state directory
  std::string store_prefix{"/ibkit/default/"};
  std::string store_ca, store_cert, store_key;
  std::string store_user, store_password_file;
  std::string store_sync{"normal"};
  std::string sa_db_file;
  std::string sa_db_dump{"30"};

  // ---- managers
  std::string event_plugin_name, event_plugin_options;
  std::uint64_t ar_sl_mask{0xFFFF}, shield_mode{1};
  bool congestion_control{false};
  std::uint64_t cc_key{0}, cc_key_lease_period{60};
  bool cc_key_protect_bit{true};
  std::uint64_t cc_max_outstanding_mads{500};
  std::uint64_t cc_sw_control_map{0}, cc_sw_threshold{0}, cc_sw_packet_size{0};
  std::uint64_t cc_sw_credit_starvation_threshold{0}, cc_sw_marking_rate{0};
  std::uint64_t cc_ca_port_control{0}, cc_ca_control_map{0};

  // ---- process and log
  bool daemon{false};
  std::string pid_file;
  std::string control_socket;
  std::string console{"off"};
  std::uint64_t console_port{10000};
  std::string console_allow;
  std::string log_file;
  std::uint64_t log_flags{0x03};
  bool force_log_flush{false};
  bool accum_log_file{true};
  std::uint64_t log_max_size{0};
  std::string log_prefix;
  std::string dump_files_dir;
  std::string node_name_map_name;
  std::optional<std::uint64_t> debug;

  // ---- managers
  bool perfmgr{false};
  std::uint64_t perfmgr_sweep_time_s{180};
  bool perfmgr_redir{true};
  std::uint64_t perfmgr_max_outstanding_queries{500};
  bool perfmgr_ignore_cas{false}, perfmgr_rm_nodes{true}, perfmgr_log_errors{true};
  bool perfmgr_query_cpi{true}, perfmgr_xmit_wait_log{false};
  std::uint64_t perfmgr_xmit_wait_threshold{65535};
  std::string perfmgr_error_thresholds;
  std::uint64_t perfmgr_window_s{3600};
  std::uint64_t perfmgr_history{100'000};
  std::string event_db_dump_file;

  // ---- events
  std::string event_file;
  std::string activity_report_subjects{"none"};

  friend bool operator==(const Settings&, const Settings&) = default;
};

}  // namespace sm::config
