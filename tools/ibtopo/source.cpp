// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibtopo/source.h"

#include <algorithm>
#include <cstdio>

#include "libdiag/discover/degraded.h"
#include "libdiag/discover/sweep.h"
#include "libdiag/fabric/topology_gaps.h"
#include "libdiag/fabric/topology_text.h"
#include "tools/common/connection.h"
#include "tools/ibtopo/fec.h"

namespace ib::tools::topo {
namespace {

using discover::Observed;
using fabric::NodeIndex;
using fabric::PortRef;

std::vector<PortRef> degraded_ports(const Observed& observed) {
  std::vector<PortRef> degraded;
  const fabric::Fabric& fabric = observed.fabric;
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    for (unsigned p = 0; p <= fabric.node(n).num_ports; ++p) {
      const PortRef self{n, static_cast<std::uint8_t>(p)};
      if (discover::is_degraded(observed, self)) degraded.push_back(self);
    }
  }
  return degraded;
}

Result<Source> load_file(const Options& options) {
  Source source;
  auto fabric = fabric::read_topology_file(*options.load, &source.warnings);
  if (!fabric) return tl::unexpected<Error>(std::move(fabric.error()));
  source.errors = fabric::take_gaps(source.warnings).lines;
  source.complete = source.errors.empty();
  source.fabric = *std::move(fabric);
  source.title = options.load->substr(options.load->rfind('/') + 1);
  return source;
}

Result<Source> sweep(const Options& options) {
  auto connection = Connection::open(options.common);
  if (!connection) return tl::unexpected<Error>(std::move(connection.error()));
  discover::SweepOptions sweep_options;
  sweep_options.hops_max = options.hops_max;
  if (options.m_key) sweep_options.m_key = [key = *options.m_key](Guid) { return key; };
  discover::Sweep sweep(sweep_options);
  const Instant start = monotonic_now();
  if (auto ran = (*connection)->session().run(sweep); !ran) {
    return tl::unexpected<Error>(std::move(ran.error()));
  }
  const Duration took = monotonic_now() - start;

  Observed observed = sweep.take_observed();
  Source source;
  const mad::PortFacts& facts = (*connection)->facts();
  source.title = "Fabric at " + facts.device + " port " + std::to_string(facts.port_num);
  for (const discover::Trouble& trouble : observed.troubles) {
    // Having been told to stop somewhere is no fault of the data.
    if (trouble.kind == discover::Trouble::Kind::TooFar && options.hops_max < 63) continue;
    source.errors.push_back(trouble.message);
  }
  if (options.fec) {
    auto found = check_fec((*connection)->session(), observed, options.m_key.value_or(0));
    if (!found) return tl::unexpected<Error>(std::move(found.error()));
    source.warnings = std::move(found->lines);
    for (const std::string& port : found->silent)
      source.errors.push_back(port + ": no answer to PortInfoExtended");
  }
  source.complete = observed.complete && source.errors.empty();
  source.degraded = degraded_ports(observed);
  source.built_in = discover::special_nodes(observed);
  const auto& counters = (*connection)->session().transactor().counters();
  char effort[120];
  std::snprintf(effort, sizeof effort, "%llu MADs, %llu of them retries, %.3f s",
                static_cast<unsigned long long>(counters.sends),
                static_cast<unsigned long long>(counters.retries),
                static_cast<double>(took.count()) / 1e9);
  source.effort = effort;
  source.fabric = std::move(observed.fabric);
  source.fabric.initiated_from_node = facts.node_guid;
  source.fabric.initiated_from_port = facts.port_guid;
  return source;
}

}  // namespace

Result<Source> load_source(const Options& options) {
  if (options.load) return load_file(options);
  if (options.discover == "libibnetdisc") return load_by_ibnetdisc(options);
  return sweep(options);
}

}  // namespace ib::tools::topo
