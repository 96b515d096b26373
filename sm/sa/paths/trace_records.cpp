// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/paths/trace_records.h"

#include <algorithm>

#include "sm/sa/paths/path_pairs.h"
#include "sm/sa/paths/path_records.h"

namespace sm::sa {
namespace {

using ib::wire::PathRecord;
using ib::wire::TraceRecord;
namespace status = ib::wire::status;

// Component identifiers are GUIDs, which never change their meaning.
constexpr std::uint16_t kIdGeneration = 1;

TraceRecord record_of(const Snapshot& snapshot, const Paths::Step& step) {
  const auto& fabric = snapshot.fabric();
  const auto& node = fabric.node(step.node);
  TraceRecord r;
  r.gid_prefix = snapshot.subnet_prefix;
  r.id_generation = kIdGeneration;
  r.node_type = static_cast<std::uint8_t>(node.type);
  r.node_id = node.guid.value;
  r.chassis_id = node.system_image_guid.value;
  r.entry_port = ib::PortNum{step.entry};
  r.exit_port = ib::PortNum{step.exit};
  // Ports of a switch have numbers and no GUIDs.
  if (!node.is_switch()) {
    if (step.entry != 0) r.entry_port_id = fabric.port(step.node, step.entry).guid.value;
    if (step.exit != 0) r.exit_port_id = fabric.port(step.node, step.exit).guid.value;
  }
  return r;
}

class TraceSource final : public RecordSource {
 public:
  TraceSource(std::shared_ptr<const Paths> paths, std::vector<Paths::Step> steps)
      : RecordSource(ib::wire::LayoutOf<TraceRecord>::kBytes),
        paths_(std::move(paths)),
        steps_(std::move(steps)) {}

 private:
  Found search(std::byte* record, std::size_t most, std::size_t& looked_at) override {
    if (at_ == steps_.size()) return Found::Nothing;
    if (most == 0) return Found::NotYet;
    ++looked_at;
    std::fill_n(record, record_bytes(), std::byte{0});
    ib::wire::encode(record_of(paths_->snapshot(), steps_[at_++]), record);
    return Found::Record;
  }

  std::shared_ptr<const Paths> paths_;
  std::vector<Paths::Step> steps_;
  std::size_t at_{0};
};

}  // namespace

Opened open_trace_query(const World& world, const Query& query) {
  if (query.method != ib::wire::Method::GetTraceTable) return status::kBadAttribute;
  const auto wanted = ib::wire::decode<PathRecord>(query.wanted.data());
  const auto mask = query.mask;
  if (const auto refusal = check_path_request(wanted, mask); refusal != 0) return refusal;
  const auto from = find_source(world, named_source(wanted, mask));
  if (const auto* refusal = std::get_if<std::uint16_t>(&from); refusal != nullptr && *refusal != 0)
    return *refusal;
  if (has_bit(mask, path_bit::kDgid) && wanted.dgid.is_multicast()) return status::kSaReqInvalid;
  const auto* source = std::get_if<PathEnd>(&from);
  const auto to = find_destination(world, named_destination(wanted, mask),
                                   source == nullptr ? PathEnd{} : *source);
  if (const auto* refusal = std::get_if<std::uint16_t>(&to); refusal != nullptr && *refusal != 0)
    return *refusal;
  const auto* destination = std::get_if<PathEnd>(&to);
  // A trace is of one path.
  if ((source != nullptr && source->port == nullptr) ||
      (destination != nullptr && destination->port == nullptr))
    return status::kSaInsufficientComponents;

  std::vector<Paths::Step> steps;
  if (source != nullptr && destination != nullptr) {
    PathChoice choice(world, query.requester, wanted, mask);
    if (destination->is_router) choice.leave_subnet();
    std::size_t pairs_of_lids = kCandidatesMax;  // 128 x 128 there are
    if (const auto path = PathPairs(world, choice, 1, *source, *destination).next(pairs_of_lids))
      steps = world.paths->trace(*source->port, *destination->port, path->dlid);
  }
  return std::make_unique<TraceSource>(world.paths, std::move(steps));
}

}  // namespace sm::sa
