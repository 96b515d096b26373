// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/path_options.h"

namespace sm::daemon {

ib::Result<std::vector<sa::PrefixRoute>> read_prefix_routes(const SaOptions& options,
                                                            PolicyFiles& files) {
  using Routes = ib::Result<std::vector<sa::PrefixRoute>>;
  if (options.prefix_routes_file.empty()) return std::vector<sa::PrefixRoute>{};
  return files.read(kPrefixRoutesFile, options.prefix_routes_file,
                    [](const std::string& text, const std::string& name) -> Routes {
                      std::vector<ib::Diagnostic> problems;
                      auto routes = sa::read_prefix_routes(text, name, problems);
                      if (!problems.empty())
                        return refused("the prefix routes of " + name, text, problems);
                      return routes;
                    });
}

}  // namespace sm::daemon
