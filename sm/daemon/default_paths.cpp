// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/default_paths.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "sm/config/plugins.h"

namespace sm::daemon {
namespace {

constexpr const char* kConfDir = IBKIT_CONF_DIR;
constexpr const char* kPartitionsPath = IBKIT_PARTITION_CONFIG_FILE;
constexpr const char* kPrefixRoutesPath = IBKIT_PREFIX_ROUTES_FILE;
constexpr const char* kQosPolicyPath = IBKIT_QOS_POLICY_FILE;
constexpr const char* kNodeNamesPath = IBKIT_NODE_NAME_MAP_FILE;
constexpr const char* kAdaptiveName = "ar_mgr.conf";

std::string in_conf_dir(const char* name) { return std::string(kConfDir).append("/").append(name); }

/// Empty where it is not set.
std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// What is learnt of a simulated fabric is nothing for the real one's files. Empty: this is no
/// simulated one.
std::string directory_under_ibfabric() {
  const std::string socket = environment("IBFABRIC_SOCKET");
  return socket.empty() ? socket : socket + ".ibsm";
}

std::string state_dir(const config::Settings& said, const char* otherwise) {
  if (!said.state_dir.empty()) return said.state_dir;
  for (const char* name : {"IBSM_STATE_DIR", "OSM_CACHE_DIR"})
    if (std::string value = environment(name); !value.empty()) return value;
  const std::string simulated = directory_under_ibfabric();
  return simulated.empty() ? otherwise : simulated;
}

DefaultPaths paths_of_opensm(const config::Settings& said) {
  DefaultPaths out;
  out.state_dir = state_dir(said, "/var/cache/opensm");
  out.log_file = "/var/log/opensm.log";
  out.dump_files_dir = dump_directory(said, true);
  const std::string ofa = "/etc/ofa/";
  for (const std::string dir : {"/usr/local/etc/opensm/", "/etc/opensm/"}) {
    out.options.push_back(dir + "opensm.conf");
    out.prefix_routes.push_back(dir + "prefix-routes.conf");
    out.qos_policy.push_back(dir + "qos-policy.conf");
    out.partitions.push_back(dir + "partitions.conf");
    out.node_names.push_back(dir + "ib-node-name-map");
    out.adaptive_routing.push_back(dir + kAdaptiveName);
  }
  out.options.push_back(ofa + "opensm.conf");
  out.prefix_routes.push_back(ofa + "opensm-prefix-routes.conf");
  out.qos_policy.push_back(ofa + "opensm-qos-policy.conf");
  out.partitions.push_back(ofa + "opensm-partitions.conf");
  out.node_names.push_back(ofa + "ib-node-name-map");
  return out;
}

}  // namespace

DefaultPaths default_paths(std::string_view program, const config::Settings& said) {
  DefaultPaths out;
  if (std::filesystem::path(program).filename() == "opensm") {
    out = paths_of_opensm(said);
  } else {
    out.state_dir = state_dir(said, "/var/lib/ibsm");
    out.options.push_back(in_conf_dir("ibsm.conf"));
    out.partitions.push_back(in_conf_dir(kPartitionsPath));
    out.prefix_routes.push_back(in_conf_dir(kPrefixRoutesPath));
    out.qos_policy.push_back(in_conf_dir(kQosPolicyPath));
    out.node_names.push_back(in_conf_dir(kNodeNamesPath));
    out.adaptive_routing.push_back(in_conf_dir(kAdaptiveName));
  }
  out.options.push_back(out.state_dir + "/opensm.opts");  // as -c writes it
  return out;
}

std::string control_socket(const DefaultPaths& paths) { return paths.state_dir + "/control"; }

std::string dump_directory(const config::Settings& said, bool routing) {
  if (!said.dump_files_dir.empty()) return said.dump_files_dir;
  if (std::string value = environment("OSM_TMP_DIR"); !value.empty() || !routing) return value;
  const std::string simulated = directory_under_ibfabric();
  return simulated.empty() ? "/var/log" : simulated;
}

bool is_there(const std::string& path) {
  std::error_code error;
  return std::filesystem::symlink_status(path, error).type() !=
         std::filesystem::file_type::not_found;
}

std::string first_there(const std::vector<std::string>& paths) {
  const auto there = std::ranges::find_if(paths, is_there);
  return there == paths.end() ? std::string() : *there;
}

void fill_in(const DefaultPaths& paths, config::Settings& settings) {
  if (settings.state_dir.empty()) settings.state_dir = paths.state_dir;
  if (settings.log_file.empty()) settings.log_file = paths.log_file;
  if (settings.dump_files_dir.empty()) settings.dump_files_dir = paths.dump_files_dir;
  if (settings.control_socket.empty())
    settings.control_socket =
        control_socket(DefaultPaths{{}, {}, {}, {}, {}, {}, settings.state_dir, {}, {}});
  if (settings.prefix_routes_file.empty())
    settings.prefix_routes_file = first_there(paths.prefix_routes);
  if (settings.partition_config_file.empty())
    settings.partition_config_file = first_there(paths.partitions);
  if (settings.node_name_map_name.empty())
    settings.node_name_map_name = first_there(paths.node_names);
  if (settings.qos && settings.qos_policy_file.empty())
    settings.qos_policy_file = first_there(paths.qos_policy);
  if (!config::has_plugin(settings.event_plugin_name, config::kAdaptivePlugin)) return;
  const auto named = config::plugin_file(config::kAdaptivePlugin, settings.event_plugin_options);
  if (const std::string file = first_there(paths.adaptive_routing);
      named && named->empty() && !file.empty())
    settings.event_plugin_options +=
        " " + std::string(config::kAdaptivePlugin) + " --conf_file " + file;
}

}  // namespace sm::daemon
