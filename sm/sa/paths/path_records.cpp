// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/paths/path_records.h"

#include <algorithm>

#include "sm/sa/paths/path_pairs.h"
#include "sm/sa/paths/trace_records.h"

namespace sm::sa {
namespace {

using ib::Gid;
using ib::Lid;
using ib::wire::PathRecord;
using ib::wire::Selector;
namespace status = ib::wire::status;

constexpr std::uint8_t kScopeLinkLocal = 2;

/// What `asked` says of the components that `mask` names; others may have been left out.
PathRecord decode_named(const std::byte* asked, std::uint64_t mask) {
  constexpr std::uint64_t kUsual =
      bit(path_bit::kDgid) | bit(path_bit::kSgid) | bit(path_bit::kDlid) | bit(path_bit::kSlid) |
      bit(path_bit::kReversible) | bit(path_bit::kNumbPath) | bit(path_bit::kPKey);
  if ((mask & ~kUsual) != 0) return ib::wire::decode<PathRecord>(asked);
  // A View writes only through set().
  const ib::wire::View<PathRecord> view(const_cast<std::byte*>(asked));
  PathRecord named;
  if (has_bit(mask, path_bit::kDgid)) named.dgid = view.get<&PathRecord::dgid>();
  if (has_bit(mask, path_bit::kSgid)) named.sgid = view.get<&PathRecord::sgid>();
  named.dlid = view.get<&PathRecord::dlid>();
  named.slid = view.get<&PathRecord::slid>();
  named.reversible = view.get<&PathRecord::reversible>();
  named.numb_path = view.get<&PathRecord::numb_path>();
  named.p_key = view.get<&PathRecord::p_key>();
  return named;
}

class PathSource final : public RecordSource {
 public:
  template <class... Arguments>
  explicit PathSource(const Arguments&... of_pairs)
      : RecordSource(ib::wire::LayoutOf<PathRecord>::kBytes), pairs_(of_pairs...) {}

 private:
  Found search(std::byte* record, std::size_t most, std::size_t& looked_at) override {
    std::size_t left = most;
    const auto path = pairs_.next(left);
    looked_at = most - left;
    if (path) put_path(*path, record);
    if (path) return Found::Record;
    return pairs_.at_end() ? Found::Nothing : Found::NotYet;
  }

  PathPairs pairs_;
};

/// None or one record that was ready when the query began.
class ReadySource final : public RecordSource {
 public:
  explicit ReadySource(std::optional<PathRecord> path = std::nullopt)
      : RecordSource(ib::wire::LayoutOf<PathRecord>::kBytes), path_(path) {}

 private:
  Found search(std::byte* record, std::size_t most, std::size_t& looked_at) override {
    if (!path_) return Found::Nothing;
    if (most == 0) return Found::NotYet;
    ++looked_at;
    put_path(*path_, record);
    path_.reset();
    return Found::Record;
  }

  std::optional<PathRecord> path_;
};

/// The path to a multicast group (IBA 15.2.5.16.1): the group's own parameters.
std::optional<PathRecord> multicast_path(const World& world, const PathRecord& wanted,
                                         const Query& query) {
  const Multicast& multicast = world.state.multicast;
  const auto* group = multicast.find(wanted.dgid);
  if (group == nullptr) return std::nullopt;
  const auto mask = query.mask;
  const auto differs = [&](unsigned n, bool same) { return has_bit(mask, n) && !same; };
  if (differs(path_bit::kDlid, wanted.dlid == group->mlid) ||
      differs(path_bit::kPKey, wanted.p_key.base() == group->p_key.base()) ||
      differs(path_bit::kSl, wanted.sl == group->sl) ||
      differs(path_bit::kFlowLabel, wanted.flow_label == group->flow_label) ||
      differs(path_bit::kHopLimit, wanted.hop_limit == group->hop_limit) ||
      differs(path_bit::kTClass, wanted.traffic_class == group->traffic_class) ||
      (!query.single && differs(path_bit::kNumbPath, wanted.numb_path != 0)))
    return std::nullopt;

  const Gid own_prefix = Gid::from(world.snapshot().subnet_prefix, {});
  PathRecord p;
  if (has_bit(mask, path_bit::kSgid) || has_bit(mask, path_bit::kSlid)) {
    const auto found = find_source(world, named_source(wanted, mask));
    const auto* source = std::get_if<PathEnd>(&found);
    if (source == nullptr) return std::nullopt;
    // A member joined by the GID it asks with, or by its port's own.
    const auto guid = source->asked_gid ? source->asked_gid->guid() : source->port->guid;
    const auto gid = Gid::from(own_prefix.prefix(), guid);
    if (multicast.find_member(group->mgid, gid) == nullptr &&
        multicast.find_member(group->mgid, Gid::from(own_prefix.prefix(), source->port->guid)) ==
            nullptr)
      return std::nullopt;
    p.sgid = source->asked_gid.value_or(gid);
    p.slid = Lid{static_cast<std::uint16_t>(source->port->lid.value + source->offset.value_or(0))};
  }
  p.dgid = group->mgid;
  p.dlid = group->mlid;
  p.flow_label = group->flow_label;
  p.hop_limit = group->scope == kScopeLinkLocal ? group->hop_limit : kHopLimitGlobal;
  p.traffic_class = group->traffic_class;
  p.numb_path = 1;
  p.p_key = group->p_key;
  p.sl = group->sl;
  p.mtu_selector = p.rate_selector = p.packet_life_selector = Selector::Exactly;
  p.mtu = group->mtu;
  p.rate = group->rate;
  p.packet_life = group->packet_life;
  return p;
}

/// Whether the answer could have more records than an untrusted client may ask for.
bool is_too_much(const World& world, const Query& query, const PathRecord& wanted) {
  constexpr std::uint64_t kEnds =
      bit(path_bit::kDgid) | bit(path_bit::kSgid) | bit(path_bit::kDlid) | bit(path_bit::kSlid);
  if (query.single || query.requester.trusted || (query.mask & kEnds) != 0) return false;
  const std::size_t ports = world.paths->end_ports().size() + world.state.aliases.all().size();
  const std::size_t lids = world.paths->lid_count() + world.state.aliases.all().size();
  const bool one_each = has_bit(query.mask, path_bit::kNumbPath) && wanted.numb_path <= 1;
  const std::size_t most = one_each ? ports * ports : lids * lids;
  return most > world.policy.untrusted_records_max;
}

}  // namespace

NamedEnd named_source(const PathRecord& wanted, std::uint64_t mask) {
  NamedEnd named;
  if (has_bit(mask, path_bit::kSgid)) named.gid = wanted.sgid;
  if (has_bit(mask, path_bit::kSlid)) named.lid = wanted.slid;
  return named;
}
NamedEnd named_destination(const PathRecord& wanted, std::uint64_t mask) {
  NamedEnd named;
  if (has_bit(mask, path_bit::kDgid)) named.gid = wanted.dgid;
  if (has_bit(mask, path_bit::kDlid)) named.lid = wanted.dlid;
  return named;
}

Opened open_path_query(const World& world, const Query& query) {
  if (query.method == ib::wire::Method::GetTraceTable) return open_trace_query(world, query);
  const auto wanted = ib::wire::decode<PathRecord>(query.wanted.data());
  const auto mask = query.mask;
  if (const auto refusal = check_path_request(wanted, mask); refusal != 0) return refusal;
  if (has_bit(mask, path_bit::kDgid) && wanted.dgid.is_multicast())
    return std::make_unique<ReadySource>(multicast_path(world, wanted, query));
  if (is_too_much(world, query, wanted)) return kTooMuchForTheUntrusted;

  const auto nothing = [](std::uint16_t refusal) -> Opened {
    if (refusal != 0) return refusal;
    return std::make_unique<ReadySource>();
  };
  const auto source = find_source(world, named_source(wanted, mask));
  if (const auto* refusal = std::get_if<std::uint16_t>(&source)) return nothing(*refusal);
  const auto& from = std::get<PathEnd>(source);
  const auto destination = find_destination(world, named_destination(wanted, mask), from);
  if (const auto* refusal = std::get_if<std::uint16_t>(&destination)) return nothing(*refusal);
  const auto& to = std::get<PathEnd>(destination);

  PathChoice choice(world, query.requester, wanted, mask);
  if (to.is_router) choice.leave_subnet();
  const std::size_t per_pair_max = query.single                         ? 1
                                   : has_bit(mask, path_bit::kNumbPath) ? wanted.numb_path
                                                                        : SIZE_MAX;
  return std::make_unique<PathSource>(world, choice, per_pair_max, from, to);
}

bool write_first_path(const World& world, const Requester& requester, std::uint64_t mask,
                      const std::byte* asked, std::byte* record) {
  const auto wanted = decode_named(asked, mask);
  if (check_path_request(wanted, mask) != 0) return false;
  if (has_bit(mask, path_bit::kDgid) && wanted.dgid.is_multicast()) return false;
  const auto source = find_source(world, named_source(wanted, mask));
  const auto* from = std::get_if<PathEnd>(&source);
  if (from == nullptr || from->port == nullptr) return false;
  const auto destination = find_destination(world, named_destination(wanted, mask), *from);
  const auto* to = std::get_if<PathEnd>(&destination);
  if (to == nullptr || to->port == nullptr) return false;

  PathChoice choice(world, requester, wanted, mask);
  if (to->is_router) choice.leave_subnet();
  if (!choice.shows(*from->port, *to->port)) return false;
  auto path = choice.path(*from->port, from->first_lid(), *to->port, to->first_lid());
  if (!path) return false;
  const auto prefix = world.snapshot().subnet_prefix;
  path->sgid = from->gid(prefix);
  path->dgid = to->gid(prefix);
  path->preference = path_preference::kFirst;
  put_path(*path, record);
  return true;
}

}  // namespace sm::sa
