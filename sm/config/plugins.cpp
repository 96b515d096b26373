// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/config/plugins.h"

#include <algorithm>

#include "libdiag/base/text.h"

namespace sm::config {

std::vector<std::string> plugin_words(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t,", at)) != std::string_view::npos;) {
    const auto end = std::min(text.find_first_of(" \t,", at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

bool has_plugin(std::string_view names, std::string_view plugin) {
  const auto words = plugin_words(names);
  return std::ranges::find(words, plugin) != words.end();
}

ib::Result<std::string> plugin_file(std::string_view plugin, std::string_view plugin_options) {
  const auto words = plugin_words(plugin_options);
  std::string file;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != plugin) continue;
    if (i + 2 >= words.size() || words[i + 1] != "--conf_file")
      return ib::fail(ib::ErrorKind::Usage, "expected `" + std::string(plugin) +
                                                " --conf_file FILE`, got '" +
                                                ib::printable(plugin_options) + "'");
    file = words[i + 2];
  }
  return file;
}

}  // namespace sm::config
