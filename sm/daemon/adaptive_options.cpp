// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/adaptive_options.h"

#include "sm/config/plugins.h"
#include "sm/daemon/operator_file.h"
#include "sm/policy/adaptive_file.h"

namespace sm::daemon {
namespace {

ib::Result<policy::AdaptiveSettings> read_adaptive_settings(const std::string& name,
                                                            std::vector<std::string>& warnings) {
  if (name.empty()) return policy::AdaptiveSettings{};
  const auto text = read_operator_file(name);
  if (!text) return tl::unexpected<ib::Error>(text.error());
  auto file = policy::read_adaptive_file(*text, name);
  if (ib::has_errors(file.diagnostics))
    return refused("the adaptive routing settings of " + name, *text, file.diagnostics);
  for (const auto& diagnostic : file.diagnostics) warnings.push_back(to_string(diagnostic));
  return std::move(file.settings);
}

}  // namespace

ib::Result<AdaptiveChoice> read_adaptive_routing(const config::Configuration& configuration) {
  const config::Settings& s = configuration.settings;
  AdaptiveChoice out;
  if (!config::has_plugin(s.event_plugin_name, config::kAdaptivePlugin)) return out;
  const auto file = config::plugin_file(config::kAdaptivePlugin, s.event_plugin_options);
  if (!file) return tl::unexpected<ib::Error>(file.error());
  auto settings = read_adaptive_settings(*file, out.warnings);
  if (!settings) return tl::unexpected<ib::Error>(std::move(settings.error()));
  settings->sls = static_cast<std::uint16_t>(s.ar_sl_mask);
  settings->fast_recovery = s.shield_mode != 0;
  out.settings = std::make_shared<const policy::AdaptiveSettings>(*std::move(settings));
  return out;
}

}  // namespace sm::daemon
