// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/path_records.h"

#include <algorithm>

#include "libdiag/wire/rates.h"

namespace sm::sa {
namespace {

using ib::Gid;
using ib::Lid;
using ib::wire::PathRecord;
using ib::wire::Selector;
namespace status = ib::wire::status;

constexpr std::uint8_t kMtuMin = 1, kMtuMax = 5;
constexpr std::uint8_t kLifeMax = 63;
constexpr std::uint8_t kPreferDiagonal = 0, kPreferOther = 2;
constexpr std::uint8_t kHopLimitGlobal = 0xFF;
constexpr std::uint8_t kScopeLinkLocal = 2;

bool both(std::uint64_t mask, unsigned a, unsigned b) {
  return has_bit(mask, a) && has_bit(mask, b);
}

/// Lowers `mtu` to what the request wants; false when that cannot be had.
bool fit_mtu(std::uint8_t& mtu, const PathRecord& r, std::uint64_t mask) {
  if (!both(mask, path_bit::kMtuSelector, path_bit::kMtu)) return true;
  switch (r.mtu_selector) {
    case Selector::GreaterThan:
      return mtu > r.mtu;
    case Selector::LessThan:
      if (mtu >= r.mtu) mtu = static_cast<std::uint8_t>(r.mtu - 1);
      return mtu >= kMtuMin;
    case Selector::Exactly:
      if (mtu < r.mtu) return false;
      mtu = r.mtu;
      return true;
    case Selector::Largest:
      return true;
  }
  return false;
}

/// A slower rate than the slowest link's is granted where the request says "less than"; "exactly"
/// means the link rate itself, as every SA in the field has it.
bool fit_rate(std::uint8_t& rate, const PathRecord& r, std::uint64_t mask) {
  if (!both(mask, path_bit::kRateSelector, path_bit::kRate)) return true;
  const int order = ib::wire::compare_rates(rate, r.rate);
  switch (r.rate_selector) {
    case Selector::GreaterThan:
      return order > 0;
    case Selector::LessThan:
      if (order >= 0) {
        const auto below = ib::wire::next_slower_rate(r.rate);
        if (!below) return false;
        rate = *below;
      }
      return true;
    case Selector::Exactly:
      return order == 0;
    case Selector::Largest:
      return true;
  }
  return false;
}

bool fit_life(std::uint8_t& life, const PathRecord& r, std::uint64_t mask) {
  if (!both(mask, path_bit::kLifeSelector, path_bit::kLife)) return true;
  switch (r.packet_life_selector) {
    case Selector::GreaterThan:
      return life > r.packet_life;
    case Selector::LessThan:
      if (r.packet_life == 0) return false;
      if (life >= r.packet_life) life = static_cast<std::uint8_t>(r.packet_life - 1);
      return true;
    case Selector::Exactly:
      if (life < r.packet_life) return false;
      life = r.packet_life;
      return true;
    case Selector::Largest:
      return true;
  }
  return false;
}

/// One side of the query: a fixed port, or all; and of it one LID, or all.
struct Side {
  const EndPort* port{nullptr};
  bool all{true};
  std::uint8_t offset{0};  // with one_lid
  bool one_lid{false};
  std::optional<Gid> asked_gid;  // answered as it was asked
};

struct SideError {
  std::uint16_t status{};  // 0: no such port, so an empty answer
};

std::variant<Side, SideError> resolve(const Paths& paths, bool has_gid, const Gid& gid,
                                      bool has_lid, Lid lid) {
  Side side;
  if (has_gid) {
    const auto prefix = gid.prefix();
    if (prefix != ib::kDefaultSubnetPrefix && prefix != paths.snapshot().subnet_prefix)
      return SideError{status::kSaInvalidGid};
    side.port = paths.find(gid.guid());
    if (side.port == nullptr) return SideError{};
    side.asked_gid = gid;
    side.all = false;
  }
  if (has_lid) {
    const auto* by_lid = paths.find(lid);
    if (by_lid == nullptr) return SideError{};
    if (side.port != nullptr && side.port != by_lid) return SideError{status::kSaReqInvalid};
    side.port = by_lid;
    side.all = false;
    side.one_lid = true;
    side.offset = static_cast<std::uint8_t>(lid.value - by_lid->lid.value);
  }
  return side;
}

class PathSource final : public RecordSource {
 public:
  PathSource(std::shared_ptr<const Paths> paths, const PathRecord& wanted, const Query& query,
             const Side& source, const Side& destination)
      : RecordSource(ib::wire::LayoutOf<PathRecord>::kBytes),
        paths_(std::move(paths)),
        wanted_(wanted),
        mask_(query.mask),
        source_(source),
        destination_(destination) {
    if (query.single) {
      per_pair_max_ = 1;
    } else if (has_bit(mask_, path_bit::kNumbPath)) {
      per_pair_max_ = wanted.numb_path;
    }
    // What no path here can have needs no look at the pairs.
    const bool other_key =
        has_bit(mask_, path_bit::kPKey) && wanted.p_key.base() != ib::kDefaultPKey.base();
    if (other_key || per_pair_max_ == 0 || paths_->end_ports().empty()) at_end_ = true;
  }

  bool next(std::byte* record) override {
    for (std::size_t looked_at = 0; !at_end_; ++looked_at) {
      if (looked_at == kCandidatesMax) {
        gave_up_ = at_end_ = true;
        break;
      }
      const auto path = current();
      if (path) {
        std::fill_n(record, record_bytes(), std::byte{0});
        ib::wire::encode(*path, record);
      }
      advance(path.has_value());
      if (path) return true;
    }
    return false;
  }

 private:
  const EndPort& port_of(const Side& side, std::size_t index) const {
    return side.all ? paths_->end_ports()[index] : *side.port;
  }
  std::size_t ports_in(const Side& side) const { return side.all ? paths_->end_ports().size() : 1; }
  static unsigned lids_in(const Side& side, const EndPort& port) {
    return side.one_lid ? 1U : port.lid_count();
  }

  /// LID pairs of two ports: the diagonal first, then the others, destinations fastest.
  void advance(bool found) {
    if (found) ++of_pair_;
    if (of_pair_ < per_pair_max_ && next_lid_pair()) return;
    of_pair_ = 0;
    source_lid_ = destination_lid_ = 0;
    diagonal_ = true;
    if (++destination_index_ < ports_in(destination_)) return;
    destination_index_ = 0;
    if (++source_index_ == ports_in(source_)) at_end_ = true;
  }
  bool next_lid_pair() {
    const unsigned sources = lids_in(source_, port_of(source_, source_index_));
    const unsigned destinations = lids_in(destination_, port_of(destination_, destination_index_));
    if (diagonal_) {
      if (++source_lid_ < std::min(sources, destinations)) {
        destination_lid_ = source_lid_;
        return true;
      }
      diagonal_ = false;
      source_lid_ = 0;
      destination_lid_ = 0;  // passed over below: it was on the diagonal
    }
    do {
      if (++destination_lid_ == destinations) {
        destination_lid_ = 0;
        if (++source_lid_ == sources) return false;
      }
    } while (source_lid_ == destination_lid_);
    return true;
  }

  std::optional<PathRecord> current() const {
    const EndPort& from = port_of(source_, source_index_);
    const EndPort& to = port_of(destination_, destination_index_);
    const auto lid = [](const Side& side, const EndPort& port, unsigned offset) {
      return Lid{
          static_cast<std::uint16_t>(port.lid.value + (side.one_lid ? side.offset : offset))};
    };
    return path(from, to, lid(source_, from, source_lid_), lid(destination_, to, destination_lid_));
  }

  /// A link of this rate on the way rules the path out.
  bool is_too_slow(std::uint8_t rate) const {
    if (!both(mask_, path_bit::kRateSelector, path_bit::kRate)) return false;
    const int order = ib::wire::compare_rates(rate, wanted_.rate);
    return (wanted_.rate_selector == Selector::GreaterThan && order <= 0) ||
           (wanted_.rate_selector == Selector::Exactly && order < 0);
  }

  std::optional<PathRecord> path(const EndPort& from, const EndPort& to, Lid slid, Lid dlid) const {
    const ib::Sl sl = paths_->sl(from, to);
    if (has_bit(mask_, path_bit::kSl) && wanted_.sl != sl) return std::nullopt;
    std::uint8_t life = from.port == to.port ? std::uint8_t{0} : paths_->snapshot().subnet_timeout;
    if (!fit_life(life, wanted_, mask_)) return std::nullopt;
    // No path is better than its ends, and looking at those costs no walk.
    for (const auto* end : {&from, &to}) {
      auto best = paths_->own(*end);
      if (!fit_mtu(best.mtu, wanted_, mask_)) return std::nullopt;
      if (end->port.port != 0 && is_too_slow(best.rate)) return std::nullopt;
    }
    auto quality = paths_->between(from, to, dlid);
    if (!quality || !fit_mtu(quality->mtu, wanted_, mask_) ||
        !fit_rate(quality->rate, wanted_, mask_))
      return std::nullopt;
    // Answers come back on the request's SL, so both ways must be routed for the same one.
    const bool reversible = paths_->sl(to, from) == sl && paths_->between(to, from, slid).has_value();
    if (has_bit(mask_, path_bit::kReversible) && wanted_.reversible && !reversible)
      return std::nullopt;

    PathRecord p;
    if (both(mask_, path_bit::kServiceIdHigh, path_bit::kServiceIdLow))
      p.service_id = wanted_.service_id;
    const auto prefix = paths_->snapshot().subnet_prefix;
    p.dgid = destination_.asked_gid.value_or(Gid::from(prefix, to.guid));
    p.sgid = source_.asked_gid.value_or(Gid::from(prefix, from.guid));
    p.dlid = dlid;
    p.slid = slid;
    p.reversible = reversible;
    p.p_key = has_bit(mask_, path_bit::kPKey) ? wanted_.p_key : ib::kDefaultPKey;
    p.sl = sl;
    p.mtu_selector = p.rate_selector = p.packet_life_selector = Selector::Exactly;
    p.mtu = quality->mtu;
    p.rate = quality->rate;
    p.packet_life = life;
    p.preference = diagonal_ ? kPreferDiagonal : kPreferOther;
    return p;
  }

  std::shared_ptr<const Paths> paths_;
  PathRecord wanted_;
  std::uint64_t mask_;
  Side source_, destination_;
  std::size_t per_pair_max_{SIZE_MAX};
  std::size_t source_index_{0}, destination_index_{0}, of_pair_{0};
  unsigned source_lid_{0}, destination_lid_{0};
  bool diagonal_{true};
  bool at_end_{false};
};

/// None or one record that was ready when the query began.
class ReadySource final : public RecordSource {
 public:
  explicit ReadySource(std::optional<PathRecord> path = std::nullopt)
      : RecordSource(ib::wire::LayoutOf<PathRecord>::kBytes), path_(path) {}
  bool next(std::byte* record) override {
    if (!path_) return false;
    std::fill_n(record, record_bytes(), std::byte{0});
    ib::wire::encode(*path_, record);
    path_.reset();
    return true;
  }

 private:
  std::optional<PathRecord> path_;
};

/// The path to a multicast group (IBA 15.2.5.16.1): the group's own parameters.
std::optional<PathRecord> multicast_path(const Paths& paths, const Multicast& multicast,
                                         const PathRecord& wanted, const Query& query) {
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

  const bool has_source = has_bit(mask, path_bit::kSgid) || has_bit(mask, path_bit::kSlid);
  const auto source = resolve(paths, has_bit(mask, path_bit::kSgid), wanted.sgid,
                              has_bit(mask, path_bit::kSlid), wanted.slid);
  const auto* side = std::get_if<Side>(&source);
  if (has_source) {
    if (side == nullptr) return std::nullopt;
    const auto gid = Gid::from(paths.snapshot().subnet_prefix, side->port->guid);
    if (multicast.find_member(group->mgid, gid) == nullptr) return std::nullopt;
  }
  PathRecord p;
  p.dgid = group->mgid;
  p.dlid = group->mlid;
  if (has_source) {
    p.sgid = side->asked_gid.value_or(Gid::from(paths.snapshot().subnet_prefix, side->port->guid));
    p.slid = Lid{static_cast<std::uint16_t>(side->port->lid.value + side->offset)};
  }
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

/// 0, or why the request cannot be meant.
std::uint16_t check(const PathRecord& r, std::uint64_t mask) {
  if (has_bit(mask, path_bit::kServiceIdHigh) != has_bit(mask, path_bit::kServiceIdLow))
    return status::kSaInsufficientComponents;
  if (both(mask, path_bit::kMtuSelector, path_bit::kMtu) && (r.mtu < kMtuMin || r.mtu > kMtuMax))
    return status::kSaReqInvalid;
  if (both(mask, path_bit::kRateSelector, path_bit::kRate) && ib::wire::rate_gbps(r.rate) <= 0)
    return status::kSaReqInvalid;
  static_assert(kLifeMax == 63, "every value of the 6-bit field is a packet life");
  return 0;
}

}  // namespace

Opened open_path_query(const World& world, const Query& query) {
  const auto& paths = world.paths;
  const Multicast& multicast = world.state.multicast;
  const auto wanted = ib::wire::decode<PathRecord>(query.wanted.data());
  const auto mask = query.mask;
  if (const auto refusal = check(wanted, mask); refusal != 0) return refusal;
  if (has_bit(mask, path_bit::kDgid) && wanted.dgid.is_multicast())
    return std::make_unique<ReadySource>(multicast_path(*paths, multicast, wanted, query));

  Side sides[2];
  for (const bool destination : {false, true}) {
    const auto found = destination ? resolve(*paths, has_bit(mask, path_bit::kDgid), wanted.dgid,
                                             has_bit(mask, path_bit::kDlid), wanted.dlid)
                                   : resolve(*paths, has_bit(mask, path_bit::kSgid), wanted.sgid,
                                             has_bit(mask, path_bit::kSlid), wanted.slid);
    if (const auto* error = std::get_if<SideError>(&found)) {
      if (error->status != 0) return error->status;
      return std::make_unique<ReadySource>();
    }
    sides[destination] = std::get<Side>(found);
  }
  return std::make_unique<PathSource>(paths, wanted, query, sides[0], sides[1]);
}

}  // namespace sm::sa
