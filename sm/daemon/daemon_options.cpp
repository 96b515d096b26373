// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "libdiag/base/text.h"
#include "sm/config/activity.h"
#include "sm/config/qos.h"
#include "sm/config/routing.h"
#include "sm/config/store_place.h"
#include "sm/config/table.h"
#include "sm/config/value.h"
#include "sm/daemon/adaptive_options.h"
#include "sm/daemon/chain_options.h"
#include "sm/daemon/congestion_options.h"
#include "sm/daemon/default_paths.h"
#include "sm/daemon/node_name_options.h"
#include "sm/daemon/options.h"
#include "sm/daemon/path_options.h"
#include "sm/daemon/qos_options.h"
#include "sm/daemon/route_options.h"
#include "sm/daemon/shared_copies.h"

namespace sm::daemon {
namespace {

using config::Configuration;
using config::Settings;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint8_t kOldRatesMax = 18;  // 300 Gb/s, the last code of the first extension
constexpr std::uint64_t kTimeoutMax = 60'000, kWindowMax = 4096;

config::Origin::From origin(const Configuration& configuration, const char* key) {
  return configuration.origin(*config::find_key(key)).from;
}

/// opensm writes its default paths into every options file, and there may be no such file.
void forget_absent_defaults(const Configuration& configuration, Settings& settings) {
  for (const char* key :
       {"torus_config", "prefix_routes_file", "qos_policy_file", "partition_config_file"}) {
    const config::Row& row = *config::find_key(key);
    std::string& path = settings.*std::get<std::string Settings::*>(row.field);
    if (configuration.origin(row).from == config::Origin::From::File && path == row.stock &&
        !is_there(path))
      path.clear();
  }
}

sa::Options sa_server(const Settings& s) {
  sa::Options out;
  auto& trust = out.trust;
  std::uint64_t key = 0;
  if (ib::parse_number(s.sa_key, UINT64_MAX, key)) trust.sa_key = key;
  trust.enhanced = s.sa_enhanced_trust_model;
  trust.untrusted_guid_info = s.sa_etm_allow_untrusted_guidinfo_rec;
  trust.untrusted_proxies = s.sa_etm_allow_untrusted_proxy_requests;
  trust.check_source_gid = s.sa_check_sgid_spoofing;
  out.quotas.services = s.sa_etm_max_num_srvcs;
  out.quotas.subscriptions = s.sa_etm_max_num_event_subs;
  out.quotas.groups = s.sa_etm_max_num_mcgs;
  sa::set_limits({static_cast<std::uint32_t>(s.sa_max_outstanding),
                  static_cast<std::uint32_t>(s.sa_queue_size),
                  static_cast<std::uint32_t>(s.max_msg_fifo_timeout)},
                 out);
  out.multicast.join_validation = s.mcgroup_join_validation;
  out.multicast.creation_validation = s.ipoib_mcgroup_creation_validation;
  out.multicast.consolidate_ipv6_snm = s.consolidate_ipv6_snm_req;
  out.multicast.disabled = s.disable_multicast;
  out.policy.untrusted_records_max = s.sa_untrusted_records;
  out.policy.rate_code_max = static_cast<std::uint8_t>(s.max_rate_enum.value_or(0));
  if (s.use_original_extended_sa_rates_only)
    out.policy.rate_code_max =
        std::min(s.max_rate_enum ? out.policy.rate_code_max : kOldRatesMax, kOldRatesMax);
  out.policy.limits_tavor_mtu = s.enable_quirks;
  out.policy.virtual_hop_limit = static_cast<std::uint8_t>(s.virt_default_hop_limit);
  auto& router = out.policy.router_paths;
  router.flow_label = static_cast<std::uint32_t>(s.rtr_pr_flow_label);
  router.traffic_class = static_cast<std::uint8_t>(s.rtr_pr_tclass);
  router.sl = ib::Sl{static_cast<std::uint8_t>(s.rtr_pr_sl)};
  router.mtu = static_cast<std::uint8_t>(s.rtr_pr_mtu);
  router.rate = static_cast<std::uint8_t>(s.rtr_pr_rate);
  out.router_aliases = static_cast<sa::RouterAliases>(s.rtr_aguid_enable);
  return out;
}

/// Seconds; a truth is opensm's, which dumps at every sweep.
ib::Duration dump_pause(const std::string& text) {
  std::uint64_t pause = 0;
  if (text == "TRUE") return RegistryOptions{}.dump_every;
  return seconds(ib::parse_number(text, UINT32_MAX, pause) ? pause : 0);
}

void take_port(const Configuration& configuration, const Settings& s, DaemonOptions& to) {
  std::uint64_t zero = 0;
  if (ib::parse_number(s.guid, 0, zero)) {
    // In a file it is opensm's way to say nothing.
    to.list_ports = origin(configuration, "guid") == config::Origin::From::CommandLine;
  } else if (auto guids = config::read_guids(s.guid); guids && !guids->empty()) {
    to.port_guids = *std::move(guids);
    to.port_guid = to.port_guids.front();
  }
}

void take_mastership(const Settings& s, core::MastershipOptions& to) {
  to.priority = static_cast<std::uint8_t>(s.sm_priority);
  if (s.master_sm_priority != 0)
    to.master_priority = static_cast<std::uint8_t>(s.master_sm_priority);
  to.sm_key = s.sm_key;
  to.ignore_others = s.force;
  to.start_inactive = s.sm_inactive;
  // It was checked where it was read.
  if (const auto guids = config::read_guids(s.allowed_sm_guids))
    to.allowed = {guids->begin(), guids->end()};
  to.poll = milliseconds(s.sminfo_polling_timeout);
  to.unanswered_most = static_cast<std::uint32_t>(s.polling_retry_number);
}

void take_m_keys(const Settings& s, DaemonOptions& to) {
  to.m_key_lookup = s.m_key_lookup;
  to.core.m_keys.key = s.m_key.value_or(0);
  if (!s.m_key && !s.m_key_lease_period && !s.m_key_protection_level) return;
  plan::MKeyWant want;
  want.key = s.m_key.value_or(0);
  want.lease = static_cast<std::uint16_t>(s.m_key_lease_period.value_or(0));
  want.protection = static_cast<std::uint8_t>(s.m_key_protection_level.value_or(0));
  if (want.key == 0 && (want.lease != 0 || want.protection != 0))
    to.warnings.push_back(
        "m_key_lease_period and m_key_protection_level protect nothing without m_key");
  to.core.plan.m_key = want;
}

void take_core(const Configuration& configuration, const Settings& s, DaemonOptions& to) {
  auto& core = to.core;
  core.plan = config::plan_options(s);
  if (s.qos) {
    core.plan.qos_sets = config::qos_sets(configuration);
    for (std::string& line : policy::qos_warnings(core.plan.qos_sets))
      to.warnings.push_back(std::move(line));
    for (std::string& line : policy::weight_hints(core.plan.qos_sets))
      to.notes.push_back(std::move(line));
  }
  // In a file it is opensm's default, above which its engines stand.
  if (s.sm_sl == 0U && origin(configuration, "sm_sl") == config::Origin::From::File)
    core.plan.sm_sl.reset();
  take_mastership(s, core.mastership);
  take_m_keys(s, to);
  core.honor_stored_lids = s.honor_guid2lid;
  core.sweep_interval = seconds(s.sweep_interval);
  core.full_sweeps_only = s.force_heavy_sweep;
  core.silent_hosts = {static_cast<unsigned>(s.silent_host_sweeps), seconds(s.silent_host_seconds)};
  core.full_sweep_every = seconds(s.full_sweep_interval);
  if (s.offsweep_balancing_enabled) core.balance_after = seconds(s.offsweep_balancing_window);
  core.act_on_traps = s.sweep_on_trap;
  core.disables_babbling_ports = s.babbling_port_policy;
  core.vports = {static_cast<core::VPortOptions::Mode>(s.virt_enabled),
                 static_cast<std::uint32_t>(s.virt_max_ports_in_process)};
  core.plan.reregister = !s.no_clients_rereg;
  core.plan.multicast = !s.disable_multicast;
  core.plan.multicast_top = s.use_mfttop;
  core.transactor.timeout_ceiling = milliseconds(s.transaction_timeout);
  if (s.transaction_timeout == 0) {
    core.transactor.timeout_ceiling = milliseconds(kTimeoutMax);
    to.notes.push_back(
        "--timeout 0: a request waits 60000 ms, the longest there is, before it is "
        "sent again");
  }
  core.transactor.window = static_cast<std::uint32_t>(
      s.max_wire_smps == 0 ? kWindowMax : std::min(s.max_wire_smps, kWindowMax));
}

void take_dumps(const Settings& s, DaemonOptions& to) {
  to.dumps.routing = (s.log_flags & kLogRouting) != 0;
  to.dumps.directory = dump_directory(s, to.dumps.routing);
  to.dumps.sl_to_vl = s.qos;
}

plan::Enforcement enforcement(const Settings& s) {
  if (s.no_partition_enforcement || s.part_enforce == "off") return plan::Enforcement::Off;
  if (s.part_enforce == "in") return plan::Enforcement::In;
  if (s.part_enforce == "out") return plan::Enforcement::Out;
  return plan::Enforcement::Both;
}

/// Without a file everybody is a full member. An operator who had one is told what became of it.
void say_partitions_are_gone(const PolicyFiles& files, DaemonOptions& to) {
  std::string trouble;  // it is said when the store is opened
  const auto before = files.kept(kPartitionFile, trouble);
  if (!before) return;
  to.warnings.push_back(
      fmt::format("partitions: no partition file is there or named, and that of {} was in force "
                  "before{}: everybody is a full member of the default partition now; put it back, "
                  "or remove {} where this is meant",
                  before->of, before->host.empty() ? "" : " on " + before->host, before->place));
}

/// Those that partitions and rate limits may name.
ib::Result<void> take_port_groups(const Settings& s, DaemonOptions& to, PolicyFiles& files) {
  const bool own = !s.pgrp_policy_file.empty();
  to.partition_files.groups_file = own     ? s.pgrp_policy_file
                                   : s.qos ? s.qos_policy_file
                                           : std::string();
  auto groups = read_port_groups(own ? kPortGroupsFile : kQosPolicyFile,
                                 to.partition_files.groups_file, files);
  to.partition_files.groups.reset();
  // Of a QoS policy file take_qos_rules() says what is wrong.
  if (!groups && own) return tl::unexpected<ib::Error>(std::move(groups.error()));
  if (groups) to.partition_files.groups = *std::move(groups);
  return {};
}

/// Behind take_port_groups(). A file that cannot be used ends the start, unless the last good copy
/// of it is known.
ib::Result<void> take_partitions(const Configuration& configuration, const Settings& s,
                                 DaemonOptions& to, PolicyFiles& policy_files) {
  to.core.plan.p_keys = {enforcement(s), s.keep_pkey_indexes, s.virt_enabled == 2};
  auto& files = to.partition_files;
  files.file = s.partition_config_file;
  // One that an option names may be mistyped.
  files.must_be_readable =
      origin(configuration, "partition_config_file") != config::Origin::From::Default;
  files.allow_both = s.allow_both_pkeys;
  files.with_sls = s.qos;
  auto read = read_partitions(files, policy_files);
  if (!read) return tl::unexpected<ib::Error>(std::move(read.error()));
  to.partitions = *std::move(read);
  to.core.plan.partitions = to.partitions.policy;
  if (files.file.empty()) say_partitions_are_gone(policy_files, to);
  for (const std::string& line : to.partitions.warnings) to.warnings.push_back(line);
  for (const std::string& line : to.partitions.notes) to.notes.push_back(line);
  return {};
}

ib::Result<void> take_routing(const Settings& s, DaemonOptions& to, PolicyFiles& policy_files) {
  auto [choice, files] = config::routing(s);
  auto read = read_route_options(files, choice.engine, policy_files);
  if (!read) return tl::unexpected<ib::Error>(std::move(read.error()));
  auto chain = read_chain(s);
  if (!chain) return tl::unexpected<ib::Error>(std::move(chain.error()));
  read->options.chain = std::move(chain->chain);
  std::ranges::move(chain->mentions, std::back_inserter(read->mentions));
  std::ranges::move(chain->warnings, std::back_inserter(to.warnings));
  to.routing_files = !files.empty() || read->options.chain != nullptr;
  to.core.plan.choice = std::move(choice);
  to.core.plan.choice.engine = std::move(read->options);
  to.core.plan.mentions = std::move(read->mentions);
  to.dumps.engine = to.core.plan.choice.engine;
  return {};
}

/// Behind take_partitions(), which may have failed.
ib::Result<void> take_qos_rules(const Settings& s, DaemonOptions& to, PolicyFiles& files) {
  if (s.qos) to.sa.qos_policy_file = s.qos_policy_file;
  if (!s.qos && !s.qos_policy_file.empty())
    to.notes.push_back(s.qos_policy_file + ": no QoS policy is in force without -Q (qos TRUE)");
  const auto& partitions = to.partitions.policy;
  auto qos = read_qos_rules(to.sa.qos_policy_file,
                            partitions ? partitions->partitions : policy::Partitions{}, files);
  if (!qos) return tl::unexpected<ib::Error>(std::move(qos.error()));
  to.sa.server.qos = std::move(qos->rules);
  if (to.sa.server.qos) to.core.plan.level_sls = to.sa.server.qos->sls();
  for (std::string& line : qos->warnings) to.warnings.push_back(std::move(line));
  return {};
}

/// Behind take_qos_rules().
void find_dropped_levels(DaemonOptions& to) {
  if (!to.core.plan.qos || to.partitions.policy == nullptr) return;
  to.dropped_levels =
      policy::dropped_levels(to.sa.server.qos.get(), to.partitions.policy->partitions,
                             policy::all_settings(to.core.plan.qos_sets));
  for (const policy::DroppedLevel& level : to.dropped_levels)
    to.warnings.push_back(to_string(level));
}

ib::Result<void> take_congestion(const Configuration& configuration, DaemonOptions& to,
                                 PolicyFiles& files) {
  auto congestion = read_congestion(configuration, files);
  if (!congestion) return tl::unexpected<ib::Error>(std::move(congestion.error()));
  to.congestion = std::move(congestion->settings);
  for (std::string& line : congestion->warnings) to.warnings.push_back(std::move(line));
  return {};
}

ib::Result<void> take_adaptive_routing(const Configuration& configuration, DaemonOptions& to,
                                       PolicyFiles& files) {
  auto adaptive = read_adaptive_routing(configuration, files);
  if (!adaptive) return tl::unexpected<ib::Error>(std::move(adaptive.error()));
  to.core.plan.adaptive = std::move(adaptive->settings);
  for (std::string& line : adaptive->warnings) to.warnings.push_back(std::move(line));
  return {};
}

/// What came of reading the files. What is wrong with any of them is said at once.
class Files {
 public:
  void take(const ib::Result<void>& read) {
    if (!read) add(read.error());
  }
  template <class T>
  void take(ib::Result<T> read, T& to) {
    if (read)
      to = *std::move(read);
    else
      add(read.error());
  }
  /// `besides` is of a file whose place another one takes.
  ib::Result<void> all_in_order(const std::string& besides) {
    if (!trouble_) return {};
    if (!besides.empty()) trouble_->message += '\n' + besides;
    return tl::unexpected<ib::Error>(*trouble_);
  }

 private:
  void add(const ib::Error& error) {
    if (trouble_)
      trouble_->message += '\n' + error.message;
    else
      trouble_ = error;
  }
  std::optional<ib::Error> trouble_;
};

ib::Result<void> take_rates(const Settings& s, DaemonOptions& to, PolicyFiles& files) {
  if (!s.qos) {
    if (!s.enhanced_qos_policy_file.empty() && s.enhanced_qos_policy_file != "null")
      to.notes.push_back(s.enhanced_qos_policy_file + ": no rate is limited without -Q (qos TRUE)");
    return {};
  }
  to.rates_file = s.enhanced_qos_policy_file == "null" ? std::string() : s.enhanced_qos_policy_file;
  auto read = read_rate_limits(
      to.rates_file, to.partition_files.groups.value_or(std::vector<policy::PortGroup>{}), files);
  if (!read) return tl::unexpected<ib::Error>(std::move(read.error()));
  for (std::string& line : read->warnings) to.warnings.push_back(std::move(line));
  to.core.plan.rates = std::move(read->policy);
  return {};
}

/// Behind take_dumps().
void take_events(const Settings& s, DaemonOptions& to) {
  to.events.file = s.event_file;
  to.events.activity_subjects = config::activity_subjects(s.activity_report_subjects).value_or(0);
  to.events.activity_file =
      (to.dumps.directory.empty() ? s.state_dir : to.dumps.directory) + "/opensm-activity.dump";
}

void take_performance(const Settings& s, DaemonOptions& to) {
  to.counters_file = s.event_db_dump_file;
  const bool is_built = config::find_key("perfmgr")->effect == config::Effect::Works;
  if (!s.perfmgr || !is_built) return;
  auto& performance = to.performance.emplace();
  performance.sweep_time = seconds(s.perfmgr_sweep_time_s);
  to.core.watch_every = performance.sweep_time;
  performance.outstanding = s.perfmgr_max_outstanding_queries;
  performance.follow_redirections = s.perfmgr_redir;
  performance.ignore_cas = s.perfmgr_ignore_cas;
  performance.forget_gone_nodes = s.perfmgr_rm_nodes;
  performance.log_errors = s.perfmgr_log_errors;
  performance.ask_capabilities = s.perfmgr_query_cpi;
  performance.log_xmit_wait = s.perfmgr_xmit_wait_log;
  performance.xmit_wait_threshold = static_cast<std::uint32_t>(s.perfmgr_xmit_wait_threshold);
  if (auto thresholds = policy::read_error_thresholds(s.perfmgr_error_thresholds))
    performance.windows.thresholds = *thresholds;
  performance.windows.length = seconds(s.perfmgr_window_s);
  performance.windows_most = static_cast<std::size_t>(s.perfmgr_history);
  // A store that several share has what is true for all of them.
  performance.stores = s.perfmgr_history > 0 && !to.registry.etcd;
}

void say_flag_without_effect(const Configuration& configuration, DaemonOptions& to) {
  constexpr unsigned kLogFunctions = 0x10;
  if ((to.log_flags & kLogFunctions) != 0 &&
      origin(configuration, "log_flags") != config::Origin::From::Default)
    to.notes.emplace_back(
        "log_flags 0x10: accepted, no effect: functions have no beginnings and ends to log; 0x20 "
        "logs every MAD");
}

void take_console(const Settings& s, DaemonOptions& to) {
  using Place = ConsoleOptions::Place;
  constexpr bool kHasPort = IBKIT_ENABLE_CONSOLE_SOCKET != 0;
  const bool is_by_port = s.console == "loopback" || s.console == "socket";
  if (is_by_port && !kHasPort) {
    to.warnings.push_back("console " + s.console +
                          ": ibsm was built without ENABLE_CONSOLE_SOCKET; there is no console");
  } else if (is_by_port) {
    to.console.place = s.console == "loopback" ? Place::Loopback : Place::AllAddresses;
  } else if (s.console == "local" && (s.daemon || s.once)) {
    to.warnings.emplace_back(
        "console local is for an ibsm that stays in the foreground; there is no console");
  } else if (s.console == "local") {
    to.console.place = Place::Terminal;
  }
  to.console.port = static_cast<std::uint16_t>(s.console_port);
  // It was checked where it was read.
  if (auto peers = config::Peers::read(s.console_allow.empty() ? "127.0.0.1 ::1" : s.console_allow))
    to.console.allowed = *std::move(peers);
}

/// Nothing: the store is in the state directory.
std::optional<store::EtcdOptions> etcd_options(const Settings& s) {
  auto place = config::StorePlace::read(s.store);  // it was checked where it was read
  if (!place || place->endpoints.empty()) return std::nullopt;
  return store::EtcdOptions{std::move(place->endpoints),
                            s.store_prefix,
                            fmt::format("{:016x}", s.subnet_prefix),
                            s.store_user,
                            s.store_password_file,
                            s.store_ca,
                            s.store_cert,
                            s.store_key};
}

/// What would only show when etcd is asked.
ib::Result<void> check_etcd(const Settings& s) {
  const auto wants = [](const std::string& has, const char* name, const std::string& other,
                        const char* other_name) -> ib::Result<void> {
    if (has.empty() || !other.empty()) return {};
    return ib::fail(ib::ErrorKind::Usage, fmt::format("{} needs {}", name, other_name));
  };
  if (auto ok = wants(s.store_user, "store_user", s.store_password_file, "store_password_file");
      !ok)
    return ok;
  if (auto ok = wants(s.store_password_file, "store_password_file", s.store_user, "store_user");
      !ok)
    return ok;
  if (auto ok = wants(s.store_cert, "store_cert", s.store_key, "store_key"); !ok) return ok;
  if (auto ok = wants(s.store_key, "store_key", s.store_cert, "store_cert"); !ok) return ok;
  if (s.store.empty()) return {};
  const std::pair<const char*, const std::string&> files[] = {
      {"store_ca", s.store_ca}, {"store_cert", s.store_cert}, {"store_key", s.store_key}};
  for (const auto& [name, path] : files)
    if (!path.empty() && ::access(path.c_str(), R_OK) != 0)
      return ib::fail(ib::ErrorKind::Usage,
                      fmt::format("{} {}: {}", name, path, std::strerror(errno)));
  return {};
}

}  // namespace

ib::Result<DaemonOptions> daemon_options(const Configuration& configuration, StandIns stand_ins) {
  Settings s = configuration.settings;
  forget_absent_defaults(configuration, s);
  if (auto etcd = check_etcd(s); !etcd) return tl::unexpected<ib::Error>(std::move(etcd.error()));
  DaemonOptions o;
  if (!configuration.file.empty()) o.notes.push_back("options are those of " + configuration.file);
  for (const std::string& line : config::without_effect(configuration)) o.notes.push_back(line);
  take_port(configuration, s, o);
  take_core(configuration, s, o);
  o.sa.server = sa_server(s);
  o.sa.key_auto = s.sa_key == "auto";
  o.rx_threshold = static_cast<std::uint32_t>(s.rx_threshold);
  o.sa.prefix_routes_file = s.prefix_routes_file;
  o.registry.etcd = etcd_options(s);
  o.core.shares_store = o.registry.etcd.has_value();
  o.registry.sync = s.store_sync == "full" ? store::Sync::Full : store::Sync::Normal;
  o.registry.sa_db_file = s.sa_db_file;
  o.registry.dump_every = dump_pause(s.sa_db_dump);
  o.once = s.once;
  o.background = s.daemon;
  o.pid_file = s.pid_file;
  if (s.control_socket != "none") o.control_socket = s.control_socket;
  o.log_file = s.log_file;
  o.log_flags = static_cast<unsigned>(s.log_flags);
  say_flag_without_effect(configuration, o);
  o.flush_log = s.force_log_flush;
  o.erase_log = !s.accum_log_file;
  o.log_max_size = std::size_t{s.log_max_size} << 20;
  o.log_prefix = s.log_prefix;
  o.exit_on_fatal = s.exit_on_fatal &&
                    origin(configuration, "exit_on_fatal") == config::Origin::From::CommandLine;
  take_console(s, o);
  o.configuration = configuration;
  take_dumps(s, o);
  take_performance(s, o);
  take_events(s, o);
  o.state_dir = s.state_dir;

  Files read;
  std::optional<SharedCopies> shared;
  if (o.registry.etcd && stand_ins == StandIns::OfTheStore) shared.emplace(*o.registry.etcd);
  PolicyFiles files(s.state_dir, shared ? &*shared : nullptr);
  read.take(take_routing(s, o, files));
  read.take(read_prefix_routes(o.sa, files), o.sa.server.policy.prefix_routes);
  read.take(read_node_names(s.node_name_map_name, files), o.core.node_names);
  read.take(take_port_groups(s, o, files));
  read.take(take_partitions(configuration, s, o, files));
  read.take(take_qos_rules(s, o, files));
  find_dropped_levels(o);
  read.take(take_rates(s, o, files));
  read.take(take_congestion(configuration, o, files));
  read.take(take_adaptive_routing(configuration, o, files));
  o.good_files = files.take_good();
  o.file_troubles = files.take_troubles();
  if (auto whole = read.all_in_order(o.trouble()); !whole)
    return tl::unexpected<ib::Error>(std::move(whole.error()));
  return o;
}

}  // namespace sm::daemon
