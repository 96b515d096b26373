// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/path_records.h"

#include <algorithm>

#include "sm/sa/path_choice.h"
#include "sm/sa/path_ends.h"

namespace sm::sa {
namespace {

using ib::Gid;
using ib::Lid;
using ib::wire::PathRecord;
using ib::wire::Selector;
namespace status = ib::wire::status;

constexpr std::uint8_t kHopLimitGlobal = 0xFF;
constexpr std::uint8_t kScopeLinkLocal = 2;
// What an untrusted client hears that asks for all paths of a large subnet.
constexpr std::uint16_t kTooMuchForTheUntrusted = 0x0003;

void put(const PathRecord& path, std::byte* record) {
  static_assert(ib::wire::record_bytes<PathRecord>() == 64);
  std::fill_n(record, ib::wire::record_bytes<PathRecord>(), std::byte{0});
  ib::wire::encode(path, record);
}

class PathSource final : public RecordSource {
 public:
  PathSource(const World& world, const PathChoice& choice, bool single, const PathEnd& source,
             const PathEnd& destination)
      : RecordSource(ib::wire::LayoutOf<PathRecord>::kBytes),
        paths_(world.paths),
        aliases_(world.state.aliases.all().empty() ? nullptr : world.state.aliases.keep()),
        choice_(choice),
        from_(source, *paths_, aliases_.get()),
        to_(destination, *paths_, aliases_.get()) {
    if (single) {
      per_pair_max_ = 1;
    } else if (has_bit(choice.mask(), path_bit::kNumbPath)) {
      per_pair_max_ = choice.wanted().numb_path;
    }
    if (per_pair_max_ == 0) at_end_ = true;
    // What no partition here has needs no look at the pairs.
    if (has_bit(choice.mask(), path_bit::kPKey) &&
        std::none_of(world.policy.partitions.begin(), world.policy.partitions.end(),
                     [&](const Partition& p) { return p.base == choice.wanted().p_key.base(); }))
      at_end_ = true;
  }

  bool next(std::byte* record) override {
    for (std::size_t looked_at = 0; !at_end_ && !from_.at_end(); ++looked_at) {
      if (looked_at == kCandidatesMax) {
        gave_up_ = at_end_ = true;
        break;
      }
      if (is_new_pair_ && !choice_.shows(from_.port(), to_.port())) {
        next_pair();
        continue;
      }
      is_new_pair_ = false;
      auto path = choice_.path(from_.port(), from_.lid(from_lid_), to_.port(), to_.lid(to_lid_));
      if (path) {
        path->sgid = from_.gid();
        path->dgid = to_.gid();
        path->preference = diagonal_ ? path_preference::kFirst : path_preference::kOther;
        put(*path, record);
      }
      advance(path.has_value());
      if (path) return true;
    }
    return false;
  }

 private:
  /// LID pairs of two ports: the diagonal first, then the others, destinations fastest.
  void advance(bool found) {
    if (found) ++of_pair_;
    if (of_pair_ == per_pair_max_ || !next_lid_pair()) next_pair();
  }
  void next_pair() {
    of_pair_ = 0;
    from_lid_ = to_lid_ = 0;
    diagonal_ = is_new_pair_ = true;
    to_.next();
    if (!to_.at_end()) return;
    to_.restart();
    from_.next();
  }
  bool next_lid_pair() {
    const unsigned sources = from_.lid_count(), destinations = to_.lid_count();
    if (diagonal_) {
      if (++from_lid_ < std::min(sources, destinations)) {
        to_lid_ = from_lid_;
        return true;
      }
      diagonal_ = false;
      from_lid_ = 0;
      to_lid_ = 0;  // passed over below: it was on the diagonal
    }
    do {
      if (++to_lid_ == destinations) {
        to_lid_ = 0;
        if (++from_lid_ == sources) return false;
      }
    } while (from_lid_ == to_lid_);
    return true;
  }

  std::shared_ptr<const Paths> paths_;
  std::shared_ptr<const Aliases::Map> aliases_;  // null when there are none
  PathChoice choice_;
  EndWalk from_, to_;
  std::size_t per_pair_max_{SIZE_MAX};
  std::size_t of_pair_{0};
  unsigned from_lid_{0}, to_lid_{0};
  bool diagonal_{true}, is_new_pair_{true};
  bool at_end_{false};
};

/// None or one record that was ready when the query began.
class ReadySource final : public RecordSource {
 public:
  explicit ReadySource(std::optional<PathRecord> path = std::nullopt)
      : RecordSource(ib::wire::LayoutOf<PathRecord>::kBytes), path_(path) {}
  bool next(std::byte* record) override {
    if (!path_) return false;
    put(*path_, record);
    path_.reset();
    return true;
  }

 private:
  std::optional<PathRecord> path_;
};

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

Opened open_path_query(const World& world, const Query& query) {
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
  return std::make_unique<PathSource>(world, choice, query.single, from, to);
}

}  // namespace sm::sa
