// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Flows on the Model's surface.
#include <algorithm>

#include "libdiag/sim/traffic.h"

namespace ib::sim {

Model::Impl::~Impl() = default;

Traffic& Model::Impl::traffic() {
  if (!traffic_) traffic_ = std::make_unique<Traffic>(*this);
  return *traffic_;
}

void Model::Impl::count_traffic(NodeIndex node) {
  if (traffic_) traffic_->count_node(node);
}

Result<std::vector<std::uint32_t>> Model::add_flows(Instant now,
                                                    const std::vector<FlowSpec>& specs) {
  for (const FlowSpec& spec : specs) {
    for (const PortRef end : {spec.source, spec.target}) {
      if (!impl_->valid(end)) return fail(ErrorKind::NotFound, "no such port");
      if (impl_->nodes_[end.node].is_switch() != (end.port == 0))
        return fail(ErrorKind::Usage, "port " + std::to_string(end.port) + " of \"" +
                                          topology().node(end.node).description +
                                          "\" is no end port: a flow goes between ports of CAs, "
                                          "routers and ports 0 of switches");
    }
    if (spec.source == spec.target)
      return fail(ErrorKind::Usage, "a flow goes from a port to another one");
    if (spec.sl.value > 15) return fail(ErrorKind::Usage, "an SL is 0 to 15");
    if (spec.size == 0) return fail(ErrorKind::Usage, "a message has at least one byte");
    if (!(spec.gbit >= 0)) return fail(ErrorKind::Usage, "a rate cannot be negative");
  }
  advance(now);
  return impl_->traffic().add(specs);
}

Result<void> Model::remove_flow(Instant now, std::uint32_t id) {
  advance(now);
  if (!impl_->traffic().remove(id))
    return fail(ErrorKind::NotFound, "there is no flow " + std::to_string(id));
  return {};
}

void Model::remove_flows(Instant now) {
  advance(now);
  impl_->traffic().remove_all();
}

std::vector<FlowState> Model::flows(Instant now) {
  advance(now);
  return impl_->traffic_ ? impl_->traffic_->flows() : std::vector<FlowState>{};
}

}  // namespace ib::sim
