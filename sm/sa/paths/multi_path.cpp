// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/paths/multi_path.h"

#include <algorithm>
#include <set>
#include <span>

#include "sm/sa/paths/independence.h"
#include "sm/sa/paths/path_pairs.h"
#include "sm/sa/paths/path_records.h"

namespace sm::sa {
namespace {

using ib::Gid;
using ib::wire::MultiPathRecord;
using ib::wire::PathRecord;
namespace status = ib::wire::status;
namespace multi = multi_path_bit;

constexpr std::size_t kNumbPathDefault = 127;
// Among how many paths independent ones are looked for.
constexpr std::size_t kChoiceMax = 256;
// Pairs of LIDs looked at for one request.
constexpr std::size_t kLookMax = 20'000;

/// The same wishes as a PathRecord has them.
PathRecord as_path(const MultiPathRecord& r) {
  PathRecord p;
  p.service_id = std::uint64_t{r.service_id_high} << 56 | r.service_id_low;
  p.raw_traffic = r.raw_traffic;
  p.flow_label = r.flow_label;
  p.hop_limit = r.hop_limit;
  p.traffic_class = r.traffic_class;
  p.reversible = r.reversible;
  p.numb_path = r.numb_path;
  p.p_key = r.p_key;
  p.qos_class = r.qos_class;
  p.sl = r.sl;
  p.mtu_selector = r.mtu_selector;
  p.mtu = r.mtu;
  p.rate_selector = r.rate_selector;
  p.rate = r.rate;
  p.packet_life_selector = r.packet_life_selector;
  p.packet_life = r.packet_life;
  return p;
}
std::uint64_t as_path_mask(std::uint64_t mask) {
  constexpr std::pair<unsigned, unsigned> kSame[] = {
      {multi::kRawTraffic, path_bit::kRawTraffic},
      {multi::kFlowLabel, path_bit::kFlowLabel},
      {multi::kHopLimit, path_bit::kHopLimit},
      {multi::kTClass, path_bit::kTClass},
      {multi::kReversible, path_bit::kReversible},
      {multi::kPKey, path_bit::kPKey},
      {multi::kQosClass, path_bit::kQosClass},
      {multi::kSl, path_bit::kSl},
      {multi::kMtuSelector, path_bit::kMtuSelector},
      {multi::kMtu, path_bit::kMtu},
      {multi::kRateSelector, path_bit::kRateSelector},
      {multi::kRate, path_bit::kRate},
      {multi::kLifeSelector, path_bit::kLifeSelector},
      {multi::kLife, path_bit::kLife},
      {multi::kServiceIdHigh, path_bit::kServiceIdHigh},
      {multi::kServiceIdLow, path_bit::kServiceIdLow},
  };
  std::uint64_t path_mask = 0;
  for (const auto& [from, to] : kSame)
    if (has_bit(mask, from)) path_mask |= bit(to);
  return path_mask;
}

/// The GIDs that stand behind the record; fewer than `count` when the message ends before.
std::vector<Gid> gids_of(const Query& query, std::size_t count) {
  constexpr std::size_t kHead = ib::wire::LayoutOf<MultiPathRecord>::kBytes;
  const std::size_t bytes = std::min(query.bytes, query.wanted.size() + query.more.size());
  const auto byte = [&](std::size_t at) {
    return at < query.wanted.size() ? query.wanted[at] : query.more[at - query.wanted.size()];
  };
  std::vector<Gid> gids;
  for (std::size_t at = kHead; gids.size() < count && at + 16 <= bytes; at += 16) {
    Gid gid;
    for (std::size_t i = 0; i < 16; ++i) gid.bytes[i] = std::to_integer<std::uint8_t>(byte(at + i));
    gids.push_back(gid);
  }
  return gids;
}

/// The paths of every source to every destination, one after the other.
class GidPairs {
 public:
  /// The first `sources` of `ends` are sources, the others destinations.
  GidPairs(const World& world, const PathChoice& choice, std::vector<PathEnd> ends,
           std::size_t sources, std::size_t per_pair_max)
      : choice_(choice),
        ends_(std::move(ends)),
        sources_(sources),
        per_pair_max_(per_pair_max),
        world_(world),
        pairs_(paths_of(0, 0)) {}

  const Paths& paths() const { return choice_.paths(); }
  /// Which GIDs the last path was between.
  std::size_t source() const { return source_; }
  std::size_t destination() const { return destination_; }

  /// As PathPairs::next().
  std::optional<PathRecord> next(std::size_t& candidates) {
    while (candidates != 0 && !at_end()) {
      std::size_t some = std::min(candidates, left_);
      const auto before = some;
      auto path = pairs_.next(some);
      candidates -= before - some;
      left_ -= before - some;
      if (path) return path;
      if (!pairs_.at_end()) continue;
      // To begin with other GIDs is a step as well, though none of those that are left.
      if (candidates != 0) --candidates;
      next_gids();
    }
    return std::nullopt;
  }
  bool at_end() const { return left_ == 0 || source_ == sources_; }

 private:
  PathPairs paths_of(std::size_t source, std::size_t destination) const {
    return {world_, choice_, per_pair_max_, ends_[source], ends_[sources_ + destination]};
  }
  void next_gids() {
    if (++destination_ == ends_.size() - sources_) {
      destination_ = 0;
      ++source_;
    }
    if (source_ != sources_) pairs_ = paths_of(source_, destination_);
  }

  PathChoice choice_;
  std::vector<PathEnd> ends_;
  std::size_t sources_, per_pair_max_;
  World world_;
  PathPairs pairs_;
  std::size_t source_{0}, destination_{0};
  std::size_t left_{kLookMax};  // pairs of LIDs
};

/// The first so many there are.
class AnyPaths final : public RecordSource {
 public:
  AnyPaths(GidPairs pairs, std::size_t paths_max)
      : RecordSource(ib::wire::LayoutOf<PathRecord>::kBytes),
        pairs_(std::move(pairs)),
        left_(paths_max) {}

 private:
  Found search(std::byte* record, std::size_t most, std::size_t& looked_at) override {
    if (left_ == 0) return Found::Nothing;
    std::size_t left = most;
    const auto path = pairs_.next(left);
    looked_at = most - left;
    if (!path) return pairs_.at_end() ? Found::Nothing : Found::NotYet;
    --left_;
    put_path(*path, record);
    return Found::Record;
  }

  GidPairs pairs_;
  std::size_t left_;
};

/// Those that share the fewest cables, of the first kChoiceMax there are.
class IndependentPaths final : public RecordSource {
 public:
  IndependentPaths(GidPairs pairs, std::size_t paths_max, bool for_migration)
      : RecordSource(ib::wire::LayoutOf<PathRecord>::kBytes),
        pairs_(std::move(pairs)),
        left_(paths_max),
        state_(State::Collecting),
        for_migration_(for_migration) {}

 private:
  enum class State {
    Collecting,  // paths, and their cables
    Comparing,   // two by two, for automatic path migration
    Giving,      // the two
    Choosing     // one after the other
  };
  // What takes longer than a look at a pair of LIDs counts as so many of these.
  static constexpr std::size_t kTraceCost = 8, kComparedAtOnce = 32;

  Found search(std::byte* record, std::size_t most, std::size_t& looked_at) override {
    const auto spend = [&](std::size_t cost) { looked_at += std::min(cost, most - looked_at); };
    const auto compare = [&] { spend(found_.size() / kComparedAtOnce + 1); };
    while (looked_at != most) {
      switch (state_) {
        case State::Collecting:
          spend(collect(most - looked_at));
          break;
        case State::Comparing:
          compare();
          if (!migration_.step(found_)) state_ = has_two() ? State::Giving : State::Choosing;
          break;
        case State::Giving:
          if (two_.empty()) return Found::Nothing;
          spend(1);
          put_path(two_.back(), record);
          two_.pop_back();
          return Found::Record;
        case State::Choosing: {
          const auto* chosen = left_ == 0 ? nullptr : choice_.next(found_);
          if (chosen == nullptr) return Found::Nothing;
          compare();
          --left_;
          put_path(chosen->path, record);
          return Found::Record;
        }
      }
    }
    return Found::NotYet;
  }

  /// What it cost.
  std::size_t collect(std::size_t candidates) {
    std::size_t left = candidates;
    const auto path = pairs_.next(left);
    if (path)
      found_.push_back(
          {*path, pairs_.source(), pairs_.destination(), cables_.of(pairs_.paths(), *path)});
    if (found_.size() == kChoiceMax || (!path && pairs_.at_end()))
      state_ = for_migration_ ? State::Comparing : State::Choosing;
    return candidates - left + (path ? kTraceCost : 0);
  }
  bool has_two() {
    const auto best = migration_.best(found_);
    if (best) two_ = {best->second, best->first};  // taken from behind
    return best.has_value();
  }

  GidPairs pairs_;
  std::size_t left_;
  State state_;
  bool for_migration_;
  std::vector<CabledPath> found_;
  Cables cables_;
  ForMigration migration_;
  std::vector<PathRecord> two_;
  LeastShared choice_;
};

}  // namespace

Opened open_multi_path_query(const World& world, const Query& query) {
  if (query.method != ib::wire::Method::GetMulti) return status::kBadAttribute;
  const auto record = ib::wire::decode<MultiPathRecord>(query.wanted.data());
  const auto has = [&](unsigned n) { return has_bit(query.mask, n); };
  if (!has(multi::kSgidCount) || !has(multi::kDgidCount)) return status::kSaInsufficientComponents;
  const auto wanted = as_path(record);
  const auto mask = as_path_mask(query.mask);
  if (const auto refusal = check_path_request(wanted, mask); refusal != 0) return refusal;
  if (record.sgid_count == 0 || record.dgid_count == 0) return status::kSaReqInvalid;
  const std::size_t count = std::size_t{record.sgid_count} + record.dgid_count;
  const auto gids = gids_of(query, count);
  if (gids.size() != count) return status::kSaReqInvalid;

  // A GID named twice is one end: no path is given twice.
  std::vector<PathEnd> ends;
  ends.reserve(count);
  const auto add = [&](std::span<const Gid> side) {
    std::set<Gid> named;
    for (const Gid& gid : side) {
      const auto found = find_source(world, {gid, std::nullopt});
      const auto* end = std::get_if<PathEnd>(&found);
      if (end == nullptr) return false;
      if (named.insert(gid).second) ends.push_back(*end);
    }
    return true;
  };
  const auto all = std::span(gids);
  if (!add(all.first(record.sgid_count))) return status::kSaInvalidGid;
  const std::size_t sources = ends.size();
  if (!add(all.subspan(record.sgid_count))) return status::kSaInvalidGid;
  const std::size_t pairs_of_gids = sources * (ends.size() - sources);

  const std::size_t most = has(multi::kNumbPath) ? record.numb_path : kNumbPathDefault;
  const bool for_migration = record.sgid_count == 2 && record.dgid_count == 2 && most == 2;
  const bool independent =
      for_migration || (has(multi::kIndependence) && record.independence_selector != 0);
  const PathChoice choice(world, query.requester, wanted, mask);
  const std::size_t per_pair =
      independent ? std::max<std::size_t>(kChoiceMax / pairs_of_gids, 1) : most;
  GidPairs pairs(world, choice, std::move(ends), sources, per_pair);
  if (!independent) return std::make_unique<AnyPaths>(std::move(pairs), most);
  return std::make_unique<IndependentPaths>(std::move(pairs), most, for_migration);
}

}  // namespace sm::sa
