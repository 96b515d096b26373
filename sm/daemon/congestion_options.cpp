// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/congestion_options.h"

#include "libdiag/base/text.h"
#include "sm/config/congestion.h"
#include "sm/config/plugins.h"
#include "sm/daemon/operator_file.h"
#include "sm/policy/congestion_file.h"

namespace sm::daemon {
namespace {

ib::Result<policy::CongestionSettings> read_file(const std::string& name,
                                                 std::vector<std::string>& warnings) {
  if (name.empty()) return policy::CongestionSettings{};
  const auto text = read_operator_file(name);
  if (!text) return tl::unexpected<ib::Error>(text.error());
  auto file = policy::read_congestion_file(*text, name);
  if (ib::has_errors(file.diagnostics))
    return refused("the congestion control settings of " + name, *text, file.diagnostics);
  for (const auto& diagnostic : file.diagnostics) warnings.push_back(to_string(diagnostic));
  return file.settings;
}

}  // namespace

ib::Result<CongestionChoice> read_congestion(const config::Configuration& configuration) {
  const config::Settings& s = configuration.settings;
  CongestionChoice out;
  bool by_file = false;
  std::string others;
  for (const std::string& name : config::plugin_words(s.event_plugin_name)) {
    if (name == config::kCongestionPlugin)
      by_file = true;
    else if (name != config::kAdaptivePlugin)
      others += (others.empty() ? "" : ", ") + ib::printable(name);
  }
  if (!others.empty())
    out.warnings.push_back("event_plugin_name: ibsm loads no plug-ins, and does without " + others +
                           "; events are written by --event_file (event_file)");
  if (!by_file) {
    if (s.congestion_control) out.settings = config::congestion_settings(configuration);
    return out;
  }
  if (s.congestion_control)
    out.warnings.push_back(
        "congestion_control and its cc_ keys, but for cc_key and cc_max_outstanding_mads, count "
        "for nothing beside event_plugin_name ccmgr");
  const auto file = config::plugin_file(config::kCongestionPlugin, s.event_plugin_options);
  if (!file) return tl::unexpected<ib::Error>(file.error());
  auto settings = read_file(*file, out.warnings);
  if (!settings) return tl::unexpected<ib::Error>(std::move(settings.error()));
  out.settings = *std::move(settings);
  config::take_congestion_key(s, *out.settings);
  return out;
}

}  // namespace sm::daemon
