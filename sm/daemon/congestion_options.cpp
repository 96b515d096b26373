// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/congestion_options.h"

#include "libdiag/base/text.h"
#include "sm/config/congestion.h"
#include "sm/daemon/operator_file.h"
#include "sm/policy/congestion_file.h"

namespace sm::daemon {
namespace {

constexpr std::string_view kManager = "ccmgr", kFileOption = "--conf_file";

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t,", at)) != std::string_view::npos;) {
    const auto end = std::min(text.find_first_of(" \t,", at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

/// FILE of `ccmgr --conf_file FILE`, among what other plug-ins are told; empty: there is none.
ib::Result<std::string> conf_file(const std::string& options) {
  const auto words = words_of(options);
  std::string file;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != kManager) continue;
    if (i + 2 >= words.size() || words[i + 1] != kFileOption)
      return ib::fail(ib::ErrorKind::Usage,
                      "event_plugin_options: expected `ccmgr --conf_file FILE`, got '" +
                          ib::printable(options) + "'");
    file = words[i + 2];
  }
  return file;
}

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
  for (const std::string& name : words_of(s.event_plugin_name)) {
    if (name == kManager)
      by_file = true;
    else
      others += (others.empty() ? "" : ", ") + ib::printable(name);
  }
  if (!others.empty())
    out.warnings.push_back("event_plugin_name: ibsm loads no plug-ins, and does without " + others);
  if (!by_file) {
    if (s.congestion_control) out.settings = config::congestion_settings(configuration);
    return out;
  }
  if (s.congestion_control)
    out.warnings.push_back(
        "congestion_control and its cc_ keys, but for cc_key and cc_max_outstanding_mads, count "
        "for nothing beside event_plugin_name ccmgr");
  const auto file = conf_file(s.event_plugin_options);
  if (!file) return tl::unexpected<ib::Error>(file.error());
  auto settings = read_file(*file, out.warnings);
  if (!settings) return tl::unexpected<ib::Error>(std::move(settings.error()));
  out.settings = *std::move(settings);
  config::take_congestion_key(s, *out.settings);
  return out;
}

}  // namespace sm::daemon
