// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/multi_path.h"

#include <algorithm>
#include <map>

#include "sm/sa/path_pairs.h"
#include "sm/sa/path_records.h"

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

/// A path and the cables it runs over.
struct Candidate {
  PathRecord path;
  std::size_t source{}, destination{};  // which of the GIDs
  std::vector<std::uint32_t> cables;
};

/// Numbers for cables, in the order they are met.
class Cables {
 public:
  std::vector<std::uint32_t> of(const Paths& paths, const PathRecord& path) {
    const auto& fabric = paths.snapshot().fabric();
    std::vector<std::uint32_t> cables;
    for (const auto& step :
         paths.trace(*paths.find(path.slid), *paths.find(path.dlid), path.dlid)) {
      if (step.exit == 0) continue;
      const ib::fabric::PortRef out{step.node, step.exit};
      const auto cable = std::min(out, fabric.port(out).peer);
      cables.push_back(
          numbers_.try_emplace(cable, static_cast<std::uint32_t>(numbers_.size())).first->second);
    }
    return cables;
  }
  std::size_t count() const { return numbers_.size(); }

 private:
  std::map<ib::fabric::PortRef, std::uint32_t> numbers_;
};

/// One after the other the path that shares the fewest cables with those before it; of equals the
/// shortest, then the first.
std::vector<PathRecord> most_independent(std::vector<Candidate> all, std::size_t cables,
                                         std::size_t most) {
  std::vector<PathRecord> chosen;
  std::vector<std::uint32_t> uses(cables, 0);
  std::vector<bool> taken(all.size(), false);
  while (chosen.size() < std::min(most, all.size())) {
    std::size_t best = all.size();
    std::pair<std::uint64_t, std::size_t> best_cost;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (taken[i]) continue;
      std::uint64_t shared = 0;
      for (const auto cable : all[i].cables) shared += uses[cable];
      const std::pair<std::uint64_t, std::size_t> cost{shared, all[i].cables.size()};
      if (best == all.size() || cost < best_cost) {
        best = i;
        best_cost = cost;
      }
    }
    taken[best] = true;
    for (const auto cable : all[best].cables) ++uses[cable];
    chosen.push_back(all[best].path);
  }
  return chosen;
}

/// Automatic path migration asks for two paths between two ports each: each port is used once, and
/// of the ways to do so the one that shares the fewest cables, then with the shortest path, then
/// with the fewest cables in all.
std::vector<PathRecord> two_for_migration(const std::vector<Candidate>& all) {
  const Candidate *first = nullptr, *second = nullptr;
  std::array<std::size_t, 3> best{};
  for (const auto& a : all) {
    if (a.source != 0) continue;
    for (const auto& b : all) {
      if (b.source != 1 || a.destination == b.destination) continue;
      std::size_t shared = 0;
      for (const auto cable : a.cables)
        shared += static_cast<std::size_t>(std::count(b.cables.begin(), b.cables.end(), cable));
      const std::array<std::size_t, 3> cost{shared, std::min(a.cables.size(), b.cables.size()),
                                            a.cables.size() + b.cables.size()};
      if (first != nullptr && cost >= best) continue;
      first = &a, second = &b, best = cost;
    }
  }
  if (first == nullptr) return {};
  return {first->path, second->path};
}

class ReadyPaths final : public RecordSource {
 public:
  explicit ReadyPaths(std::vector<PathRecord> paths)
      : RecordSource(ib::wire::LayoutOf<PathRecord>::kBytes), paths_(std::move(paths)) {}

 private:
  Found search(std::byte* record, std::size_t most, std::size_t& looked_at) override {
    if (at_ == paths_.size()) return Found::Nothing;
    if (most == 0) return Found::NotYet;
    ++looked_at;
    std::fill_n(record, record_bytes(), std::byte{0});
    ib::wire::encode(paths_[at_++], record);
    return Found::Record;
  }

  std::vector<PathRecord> paths_;
  std::size_t at_{0};
};

}  // namespace

Opened open_multi_path_query(const World& world, const Query& query) {
  if (query.method != ib::wire::Method::GetMulti) return status::kBadAttribute;
  const auto record = ib::wire::decode<MultiPathRecord>(query.wanted.data());
  const auto has = [&](unsigned n) { return has_bit(query.mask, n); };
  if (!has(multi::kSgidCount) || !has(multi::kDgidCount)) return status::kSaInsufficientComponents;
  if (record.sgid_count == 0 || record.dgid_count == 0) return status::kSaReqInvalid;
  const std::size_t count = std::size_t{record.sgid_count} + record.dgid_count;
  const auto gids = gids_of(query, count);
  if (gids.size() != count) return status::kSaReqInvalid;
  const auto wanted = as_path(record);
  const auto mask = as_path_mask(query.mask);
  if (const auto refusal = check_path_request(wanted, mask); refusal != 0) return refusal;

  std::vector<PathEnd> ends;
  for (const Gid& gid : gids) {
    const auto found = find_source(world, {gid, std::nullopt});
    const auto* end = std::get_if<PathEnd>(&found);
    if (end == nullptr) return status::kSaInvalidGid;
    ends.push_back(*end);
  }

  const std::size_t most = has(multi::kNumbPath) ? record.numb_path : kNumbPathDefault;
  const bool for_migration = record.sgid_count == 2 && record.dgid_count == 2 && most == 2;
  const bool independent =
      for_migration || (has(multi::kIndependence) && record.independence_selector != 0);
  const PathChoice choice(world, query.requester, wanted, mask);
  const std::size_t wanted_in_all = independent ? kChoiceMax : most;
  const std::size_t per_pair =
      independent ? std::max<std::size_t>(
                        kChoiceMax / (std::size_t{record.sgid_count} * record.dgid_count), 1)
                  : most;
  std::vector<Candidate> found;
  Cables cables;
  std::size_t left = kLookMax;
  for (std::size_t s = 0; s < record.sgid_count; ++s) {
    for (std::size_t d = 0; d < record.dgid_count; ++d) {
      PathPairs pairs(world, choice, per_pair, ends[s], ends[record.sgid_count + d]);
      while (found.size() < wanted_in_all && left != 0) {
        const auto path = pairs.next(left);
        if (!path) break;
        found.push_back({*path, s, d, {}});
        if (independent) found.back().cables = cables.of(choice.paths(), *path);
      }
    }
  }
  if (for_migration) {
    auto two = two_for_migration(found);
    if (!two.empty()) return std::make_unique<ReadyPaths>(std::move(two));
  }
  std::vector<PathRecord> paths;
  if (independent) {
    paths = most_independent(std::move(found), cables.count(), most);
  } else {
    for (const auto& candidate : found) paths.push_back(candidate.path);
  }
  return std::make_unique<ReadyPaths>(std::move(paths));
}

}  // namespace sm::sa
