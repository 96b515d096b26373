// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/congestion_options.h"

#include <algorithm>
#include <iterator>

#include "libdiag/base/text.h"
#include "sm/config/congestion.h"
#include "sm/config/plugins.h"
#include "sm/daemon/operator_file.h"
#include "sm/policy/congestion_file.h"

namespace sm::daemon {
namespace {

struct ReadSettings {
  policy::CongestionSettings settings;
  std::vector<std::string> warnings;
};

ib::Result<ReadSettings> read_file(const std::string& path, PolicyFiles& files) {
  if (path.empty()) return ReadSettings{};
  const auto use = [](const std::string& text,
                      const std::string& name) -> ib::Result<ReadSettings> {
    const auto file = policy::read_congestion_file(text, name);
    if (ib::has_errors(file.diagnostics))
      return refused("the congestion control settings of " + name, text, file.diagnostics);
    ReadSettings read{file.settings, {}};
    for (const auto& diagnostic : file.diagnostics) read.warnings.push_back(to_string(diagnostic));
    return read;
  };
  return files.read(kCongestionFile, path, use);
}

}  // namespace

ib::Result<CongestionChoice> read_congestion(const config::Configuration& configuration,
                                             PolicyFiles& files) {
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
  auto read = read_file(*file, files);
  if (!read) return tl::unexpected<ib::Error>(std::move(read.error()));
  out.settings = read->settings;
  std::ranges::move(read->warnings, std::back_inserter(out.warnings));
  config::take_congestion_key(s, *out.settings);
  return out;
}

}  // namespace sm::daemon
