// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/paths/path_choice.h"

#include <algorithm>
#include <array>

#include "libdiag/wire/rates.h"
#include "sm/sa/paths/path_bits.h"

namespace sm::sa {
namespace {

using ib::Lid;
using ib::Sl;
using ib::wire::PathRecord;
using ib::wire::Selector;
namespace status = ib::wire::status;

constexpr std::uint8_t kLifeMax = 63;

/// The code next below that a host knows which has heard of codes up to `known`.
std::uint8_t known_rate(std::uint8_t rate, std::uint8_t known) {
  while (known != 0 && rate > known) {
    const auto below = ib::wire::next_slower_rate(rate);
    if (!below) break;
    rate = *below;
  }
  return rate;
}

}  // namespace

void put_path(const PathRecord& path, std::byte* record) {
  static_assert(ib::wire::record_bytes<PathRecord>() == 64);
  std::fill_n(record, ib::wire::record_bytes<PathRecord>(), std::byte{0});
  ib::wire::encode(path, record);
}

bool is_tavor(const Paths& paths, const EndPort& port) {
  constexpr std::uint16_t kMt23108 = 23108;
  // Mellanox, Topspin, SilverStorm, Voltaire: opensm's list (osm_sa_path_record.c).
  constexpr std::array<std::uint32_t, 4> kVendors{0x0002C9, 0x0005AD, 0x00066A, 0x0008F1};
  const auto& node = paths.snapshot().fabric().node(port.port.node);
  return node.device_id == kMt23108 &&
         std::ranges::find(kVendors, node.vendor_id) != kVendors.end();
}

std::uint16_t check_path_request(const PathRecord& r, std::uint64_t mask) {
  if (has_both(mask, path_bit::kMtuSelector, path_bit::kMtu) && ib::wire::mtu_bytes(r.mtu) == 0)
    return status::kSaReqInvalid;
  if (has_both(mask, path_bit::kRateSelector, path_bit::kRate) && ib::wire::rate_gbps(r.rate) <= 0)
    return status::kSaReqInvalid;
  static_assert(kLifeMax == 63, "every value of the 6-bit field is a packet life");
  // IBA CA13-6: both halves of the ServiceID or none.
  if (has_bit(mask, path_bit::kServiceIdHigh) != has_bit(mask, path_bit::kServiceIdLow))
    return status::kSaInsufficientComponents;
  if (has_bit(mask, path_bit::kRawTraffic) && r.raw_traffic) return status::kSaReqInvalid;
  return 0;
}

PathChoice::PathChoice(const World& world, const Requester& requester, const PathRecord& wanted,
                       std::uint64_t mask)
    : paths_(world.paths.get()),
      policy_(&world.policy),
      requester_(requester.port),
      wanted_(wanted),
      mask_(mask) {
  if (has(path_bit::kQosClass)) traffic_.qos_class = wanted.qos_class;
  if (has(path_bit::kServiceIdHigh)) traffic_.service_id = wanted.service_id;
  if (has(path_bit::kPKey)) traffic_.p_key = wanted.p_key.base();
}

bool PathChoice::shows(const EndPort& from, const EndPort& to) const {
  if (policy_->is_open()) return true;
  if (requester_ == nullptr || !policy_->share(from, to)) return false;
  // A request for a virtual port comes from the LID of the port that it is behind.
  const auto is_asking = [&](const EndPort& end) {
    return end.is_virtual && end.port == requester_->port;
  };
  if (is_asking(from) || is_asking(to)) return true;
  return policy_->share(*requester_, from) && policy_->share(*requester_, to);
}

/// The request is for the largest MTU there is, or for one above a Tavor's.
bool PathChoice::wants_more_than_tavor() const {
  if (!both(path_bit::kMtuSelector, path_bit::kMtu)) return false;
  switch (wanted_.mtu_selector) {
    case Selector::GreaterThan:
      return wanted_.mtu >= kTavorMtuMax;
    case Selector::Exactly:
      return wanted_.mtu > kTavorMtuMax;
    case Selector::Largest:
      return true;
    case Selector::LessThan:
      return false;
  }
  return false;
}

/// Lowers `mtu` to what the request wants; false when that cannot be had.
bool PathChoice::fit_mtu(std::uint8_t& mtu) const {
  if (!both(path_bit::kMtuSelector, path_bit::kMtu)) return true;
  switch (wanted_.mtu_selector) {
    case Selector::GreaterThan:
      return mtu > wanted_.mtu;
    case Selector::LessThan:
      if (mtu >= wanted_.mtu) mtu = static_cast<std::uint8_t>(wanted_.mtu - 1);
      return ib::wire::mtu_bytes(mtu) != 0;
    case Selector::Exactly:
      if (mtu < wanted_.mtu) return false;
      mtu = wanted_.mtu;
      return true;
    case Selector::Largest:
      return true;
  }
  return false;
}

/// A slower rate than the slowest link's is granted where the request says "less than"; "exactly"
/// means the link rate itself, as every SA in the field has it.
bool PathChoice::fit_rate(std::uint8_t& rate) const {
  if (!both(path_bit::kRateSelector, path_bit::kRate)) return true;
  const int order = ib::wire::compare_rates(rate, wanted_.rate);
  switch (wanted_.rate_selector) {
    case Selector::GreaterThan:
      return order > 0;
    case Selector::LessThan:
      if (order >= 0) {
        const auto below = ib::wire::next_slower_rate(wanted_.rate);
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

bool PathChoice::fit_life(std::uint8_t& life) const {
  if (!both(path_bit::kLifeSelector, path_bit::kLife)) return true;
  switch (wanted_.packet_life_selector) {
    case Selector::GreaterThan:
      return life > wanted_.packet_life;
    case Selector::LessThan:
      if (wanted_.packet_life == 0) return false;
      if (life >= wanted_.packet_life) life = static_cast<std::uint8_t>(wanted_.packet_life - 1);
      return true;
    case Selector::Exactly:
      if (life < wanted_.packet_life) return false;
      life = wanted_.packet_life;
      return true;
    case Selector::Largest:
      return true;
  }
  return false;
}

/// The SL of the level of service: the rule's, the router's, the partition's, the default level's.
std::optional<Sl> PathChoice::level_sl(const policy::QosGrant* level,
                                       const Partition& partition) const {
  if (level != nullptr && level->sl && !(level->is_default && partition.sl)) return level->sl;
  if (leaves_subnet_) return policy_->router_paths.sl;
  return partition.sl;
}

/// The request's own, which must be the rule's if there is one; the level's; else the routes'.
/// Where each pair has its own SL, that of the level and the pair.
std::optional<Sl> PathChoice::choose_sl(const EndPort& from, const EndPort& to,
                                        const policy::QosGrant* level,
                                        const Partition& partition) const {
  const Sl routed = paths_->sl(from, to);
  const auto asked = level_sl(level, partition);
  const bool by_rule = level != nullptr && level->sl && !(level->is_default && partition.sl);
  if (const auto* levels = paths_->levels()) {
    const auto granted = levels->at(asked.value_or(Sl{0}), routed);
    if (!has(path_bit::kSl)) return granted;
    const bool may =
        by_rule ? granted == wanted_.sl : (levels->all(routed) >> wanted_.sl.value & 1) != 0;
    return may ? std::optional(wanted_.sl) : std::nullopt;
  }
  Sl sl = asked.value_or(routed);
  if (has(path_bit::kSl)) {
    if (by_rule && *level->sl != wanted_.sl) return std::nullopt;
    sl = wanted_.sl;
  }
  if (sl != routed && (paths_->free_sls() >> sl.value & 1) == 0) {
    if (has(path_bit::kSl) || paths_->free_sls() != 0) return std::nullopt;
    sl = routed;
  }
  return sl;
}

std::optional<PathRecord> PathChoice::path(const EndPort& from, Lid slid, const EndPort& to,
                                           Lid dlid) const {
  const policy::QosGrant* level = policy_->qos.grant(traffic_, from, to);
  const Partition* partition = has(path_bit::kPKey) ? policy_->shared(from, to, wanted_.p_key)
                                                    : policy_->first_shared(from, to, level);
  if (partition == nullptr) return std::nullopt;
  if (level != nullptr && !level->p_keys.empty() &&
      !policy::contains(level->p_keys, partition->base))
    return std::nullopt;
  const auto sl = choose_sl(from, to, level, *partition);
  if (!sl || paths_->drops(from, to, *sl)) return std::nullopt;

  std::uint8_t life = from.port == to.port ? std::uint8_t{0} : paths_->snapshot().subnet_timeout;
  if (level != nullptr && level->packet_life && from.port != to.port) life = *level->packet_life;
  if (!fit_life(life)) return std::nullopt;

  const auto quality = paths_->between(from, to, dlid);
  if (!quality) return std::nullopt;
  std::uint8_t mtu = quality->mtu, rate = quality->rate;
  const auto cap_rate = [&](std::uint8_t limit) {
    if (ib::wire::compare_rates(limit, rate) < 0) rate = limit;
  };
  if (level != nullptr) {
    if (level->mtu_limit) mtu = std::min(mtu, *level->mtu_limit);
    if (level->rate_limit) cap_rate(*level->rate_limit);
  }
  if (policy_->limits_tavor_mtu && !wants_more_than_tavor() &&
      (is_tavor(*paths_, from) || is_tavor(*paths_, to)))
    mtu = std::min(mtu, kTavorMtuMax);
  if (leaves_subnet_) {
    mtu = std::min(mtu, policy_->router_paths.mtu);
    cap_rate(policy_->router_paths.rate);
  }
  if (!fit_mtu(mtu) || !fit_rate(rate)) return std::nullopt;

  // Answers come back on the request's SL: the way back must be one that was proved with it.
  const bool same_sl_back = paths_->sl(to, from) == paths_->sl(from, to);
  const bool reversible =
      same_sl_back && paths_->arrives(to, from, slid) && !paths_->drops(to, from, *sl);
  if (has(path_bit::kReversible) && wanted_.reversible && !reversible) return std::nullopt;
  rate = known_rate(rate, policy_->rate_code_max);
  rate = known_rate(rate, from.knows_rates);
  if (reversible) rate = known_rate(rate, to.knows_rates);

  PathRecord p;
  if (has(path_bit::kServiceIdHigh)) p.service_id = wanted_.service_id;
  p.dlid = dlid;
  p.slid = slid;
  if (leaves_subnet_) {
    p.flow_label = policy_->router_paths.flow_label;
    p.traffic_class = policy_->router_paths.traffic_class;
    p.hop_limit = kHopLimitGlobal;
  }
  // Such a path takes a GRH: its LID is that of another port, too.
  if ((from.is_virtual || to.is_virtual) && !leaves_subnet_)
    p.hop_limit = policy_->virtual_hop_limit;
  p.reversible = reversible;
  p.p_key = has(path_bit::kPKey)
                ? wanted_.p_key
                : ib::PKey{static_cast<std::uint16_t>(
                      partition->base | (partition->of(from) == Membership::Full ? 0x8000U : 0U))};
  p.sl = *sl;
  p.mtu_selector = p.rate_selector = p.packet_life_selector = Selector::Exactly;
  p.mtu = mtu;
  p.rate = rate;
  p.packet_life = life;
  return p;
}

}  // namespace sm::sa
