// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/path_options.h"

#include "libdiag/fabric/text_file.h"
#include "libdiag/wire/rates.h"

namespace sm::daemon {
namespace {

constexpr std::size_t kRoutesBytesMax = std::size_t{16} << 20;

}  // namespace

void add_path_options(ib::cli::CommandLine& line, SaOptions& o) {
  auto& policy = o.server.policy;
  auto& router = policy.router_paths;
  line.number("--sa_untrusted_records", {0, UINT32_MAX},
              "Paths that a table of all paths may have for the untrusted (default 10000)",
              [&policy](std::uint64_t v) { policy.untrusted_records_max = v; });
  line.text("--prefix_routes_file", o.prefix_routes_file, "FILE",
            "Which router leads to which subnet: lines of a prefix and a port GUID, or *");
  line.number("--rtr_pr_flow_label", {0, 0xFFFFF},
              "FlowLabel of paths through a router (default 0)",
              [&router](std::uint64_t v) { router.flow_label = static_cast<std::uint32_t>(v); });
  line.number("--rtr_pr_tclass", {0, 255}, "Traffic class of paths through a router (default 0)",
              [&router](std::uint64_t v) { router.traffic_class = static_cast<std::uint8_t>(v); });
  line.number("--rtr_pr_sl", {0, 15}, "SL of paths through a router (default 0)",
              [&router](std::uint64_t v) { router.sl = ib::Sl{static_cast<std::uint8_t>(v)}; });
  line.number("--rtr_pr_mtu,--rtr_p_mtu", {1, 5, "a code"},
              "MTU of paths through a router, at most (default 4: 2048)",
              [&router](std::uint64_t v) { router.mtu = static_cast<std::uint8_t>(v); });
  line.number("--rtr_pr_rate", {2, 25, "a code"},
              "Rate of paths through a router, at most (default 16: 100 Gb/s)",
              [&router](std::uint64_t v) { router.rate = static_cast<std::uint8_t>(v); });
}

ib::Result<std::vector<sa::PrefixRoute>> read_prefix_routes(const SaOptions& options) {
  if (options.prefix_routes_file.empty()) return std::vector<sa::PrefixRoute>{};
  const auto text = ib::fabric::read_regular_file(options.prefix_routes_file, kRoutesBytesMax);
  if (!text) return tl::unexpected<ib::Error>(text.error());
  return sa::read_prefix_routes(*text, options.prefix_routes_file);
}

}  // namespace sm::daemon
