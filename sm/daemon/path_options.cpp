// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/path_options.h"

#include "libdiag/fabric/text_file.h"

namespace sm::daemon {
namespace {

constexpr std::size_t kRoutesBytesMax = std::size_t{16} << 20;

}  // namespace

ib::Result<std::vector<sa::PrefixRoute>> read_prefix_routes(const SaOptions& options) {
  if (options.prefix_routes_file.empty()) return std::vector<sa::PrefixRoute>{};
  const auto text = ib::fabric::read_regular_file(options.prefix_routes_file, kRoutesBytesMax);
  if (!text) return tl::unexpected<ib::Error>(text.error());
  return sa::read_prefix_routes(*text, options.prefix_routes_file);
}

}  // namespace sm::daemon
