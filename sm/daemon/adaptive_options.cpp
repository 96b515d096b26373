// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/adaptive_options.h"

#include "sm/config/plugins.h"
#include "sm/daemon/operator_file.h"
#include "sm/policy/adaptive_file.h"

namespace sm::daemon {
namespace {

struct ReadAdaptiveSettings {
  policy::AdaptiveSettings settings;
  std::vector<std::string> warnings;
};

ib::Result<ReadAdaptiveSettings> read_adaptive_settings(const std::string& path,
                                                        PolicyFiles& files) {
  if (path.empty()) return ReadAdaptiveSettings{};
  const auto use = [](const std::string& text,
                      const std::string& name) -> ib::Result<ReadAdaptiveSettings> {
    auto file = policy::read_adaptive_file(text, name);
    if (ib::has_errors(file.diagnostics))
      return refused("the adaptive routing settings of " + name, text, file.diagnostics);
    ReadAdaptiveSettings read{std::move(file.settings), {}};
    for (const auto& diagnostic : file.diagnostics) read.warnings.push_back(to_string(diagnostic));
    return read;
  };
  return files.read(kAdaptiveRoutingFile, path, use);
}

}  // namespace

ib::Result<AdaptiveChoice> read_adaptive_routing(const config::Configuration& configuration,
                                                 PolicyFiles& files) {
  const config::Settings& s = configuration.settings;
  AdaptiveChoice out;
  if (!config::has_plugin(s.event_plugin_name, config::kAdaptivePlugin)) return out;
  const auto file = config::plugin_file(config::kAdaptivePlugin, s.event_plugin_options);
  if (!file) return tl::unexpected<ib::Error>(file.error());
  auto read = read_adaptive_settings(*file, files);
  if (!read) return tl::unexpected<ib::Error>(std::move(read.error()));
  read->settings.sls = static_cast<std::uint16_t>(s.ar_sl_mask);
  read->settings.fast_recovery = s.shield_mode != 0;
  out.settings = std::make_shared<const policy::AdaptiveSettings>(std::move(read->settings));
  out.warnings = std::move(read->warnings);
  return out;
}

}  // namespace sm::daemon
