// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <infiniband/ibnetdisc.h>
#include <infiniband/umad.h>

#include <memory>

#include "libdiag/base/text.h"
#include "tools/ibtopo/ibnetdisc_fabric.h"
#include "tools/ibtopo/source.h"

namespace ib::tools::topo {
namespace {

struct DestroyFabric {
  void operator()(ibnd_fabric_t* fabric) const { ibnd_destroy_fabric(fabric); }
};

}  // namespace

Result<Source> load_by_ibnetdisc(const Options& options) {
  if (umad_init() < 0) return fail(ErrorKind::Unavailable, "libibumad cannot be initialised");
  ibnd_config_t config{};
  config.max_smps = options.common.outstanding;
  config.max_hops = options.hops_max == 63 ? 0 : options.hops_max;
  config.timeout_ms = options.common.timeout_ms;
  config.flags = IBND_CONFIG_MLX_EPI;
  config.mkey = options.m_key.value_or(0);
  std::string device = options.common.device;
  const std::unique_ptr<ibnd_fabric_t, DestroyFabric> found(
      ibnd_discover_fabric(device.empty() ? nullptr : device.data(),
                           static_cast<int>(options.common.port), nullptr, &config));
  if (!found) {
    return fail(ErrorKind::Unavailable,
                "libibnetdisc found no fabric: no InfiniBand port on this host, or it is not "
                "usable; to try without hardware: ibfabric run TOPOLOGY -- ibtopo");
  }

  Source source = source_of(*found, options.hops_max);
  source.title = "Fabric at " + (device.empty() ? std::string("the local port") : device);
  source.effort = std::to_string(found->total_mads_used) + " MADs";
  return source;
}

}  // namespace ib::tools::topo
