// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/path_options.h"

#include "sm/daemon/operator_file.h"

namespace sm::daemon {

ib::Result<std::vector<sa::PrefixRoute>> read_prefix_routes(const SaOptions& options) {
  if (options.prefix_routes_file.empty()) return std::vector<sa::PrefixRoute>{};
  const std::string& file = options.prefix_routes_file;
  const auto text = read_operator_file(file);
  if (!text) return tl::unexpected<ib::Error>(text.error());
  std::vector<ib::Diagnostic> problems;
  auto routes = sa::read_prefix_routes(*text, file, problems);
  if (!problems.empty()) return refused("the prefix routes of " + file, *text, problems);
  return routes;
}

}  // namespace sm::daemon
