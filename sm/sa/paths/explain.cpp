// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/paths/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "libdiag/base/text.h"
#include "libdiag/wire/rates.h"
#include "sm/sa/paths/path_bits.h"
#include "sm/sa/paths/path_choice.h"

namespace sm::sa {
namespace {

using ib::wire::PathRecord;

std::string mtu_text(std::uint8_t code) { return fmt::to_string(ib::wire::mtu_bytes(code)); }
std::string rate_text(std::uint8_t code) {
  return fmt::format("{} Gb/s", ib::wire::rate_gbps(code));
}

std::string life_text(std::uint8_t code) {
  const double us = 4.096 * static_cast<double>(std::uint64_t{1} << code);
  return us < 1e6 ? fmt::format("{:.3g} ms", us / 1e3) : fmt::format("{:.3g} s", us / 1e6);
}

template <class T>
std::string intervals_text(const policy::Intervals<T>& intervals) {
  std::string text;
  for (const auto& range : intervals)
    text += fmt::format("{}{}", text.empty() ? "" : ", ",
                        range.first == range.last ? fmt::to_string(range.first)
                                                  : fmt::format("{}-{}", range.first, range.last));
  return text;
}

const char* membership_text(Membership membership) {
  switch (membership) {
    case Membership::None:
      return "no member";
    case Membership::Limited:
      return "a limited member";
    case Membership::Full:
      return "a full member";
  }
  return "";
}

class Explainer {
 public:
  Explainer(const World& world, const policy::QosPolicy* rules, const EndPort& from,
            const EndPort& to, const policy::QosRequest& traffic)
      : world_(world),
        paths_(*world.paths),
        policy_(world.policy),
        rules_(rules),
        from_(from),
        to_(to),
        traffic_(traffic),
        level_(policy_.qos.grant(traffic, from, to)) {}

  ExplainedPath run() && {
    rule();
    if (!find_partition()) return std::move(out_);
    out_.way = paths_.trace(from_, to_, to_.lid);
    if (out_.way.empty()) {
      out_.refusal = "no way: packets do not arrive by the routes there are";
      return std::move(out_);
    }
    choose();
    if (!out_.path) {
      out_.refusal = fmt::format("SL {}, which {}, is none that packets can travel by all the way",
                                 intended_sl().value, sl_decider());
      return std::move(out_);
    }
    partition();
    sl();
    mtu();
    rate();
    life();
    if (level_ != nullptr && !level_->path_bits.empty())
      say("path-bits", intervals_text(level_->path_bits),
          "of " + level_->rule + "; without effect");
    return std::move(out_);
  }

 private:
  void say(std::string subject, std::string value, std::string reason) {
    out_.reasons.push_back({std::move(subject), std::move(value), std::move(reason)});
  }

  void rule() {
    if (level_ == nullptr)
      say("rule", "none",
          rules_ == nullptr ? "no QoS policy is in force"
                            : "no rule of the QoS policy matches, and it has no default");
    else if (level_->is_default)
      say("rule", level_->rule, "no other rule matches");
    else
      say("rule", level_->rule, "the first rule whose every criterion the request meets");
  }

  bool find_partition() {
    if (traffic_.p_key) {
      const ib::PKey asked{static_cast<std::uint16_t>(*traffic_.p_key | 0x8000U)};
      partition_ = policy_.shared(from_, to_, asked);
      if (partition_ == nullptr) {
        out_.refusal = no_partition(*traffic_.p_key);
      } else if (level_ != nullptr && !level_->p_keys.empty() &&
                 !policy::contains(level_->p_keys, partition_->base)) {
        partition_ = nullptr;
        out_.refusal =
            fmt::format("{} allows other P_Keys than 0x{:04x}", level_->rule, *traffic_.p_key);
      }
      return partition_ != nullptr;
    }
    partition_ = policy_.first_shared(from_, to_, level_);
    if (partition_ == nullptr)
      out_.refusal = fmt::format(
          "no partition{} joins them: both must be members, and one a full one",
          level_ == nullptr || level_->p_keys.empty() ? "" : " that " + level_->rule + " allows");
    return partition_ != nullptr;
  }
  std::string no_partition(std::uint16_t base) const {
    const auto membership = [&](const EndPort& port) {
      for (const auto& p : policy_.partitions)
        if (p.base == base) return membership_text(p.of(port));
      return membership_text(Membership::None);
    };
    return fmt::format("P_Key 0x{:04x} does not join them: the source is {}, the destination {}",
                       base, membership(from_), membership(to_));
  }

  void choose() {
    PathRecord wanted;
    std::uint64_t mask = 0;
    if (traffic_.qos_class)
      wanted.qos_class = *traffic_.qos_class, mask |= bit(path_bit::kQosClass);
    if (traffic_.service_id) {
      wanted.service_id = *traffic_.service_id;
      mask |= bit(path_bit::kServiceIdHigh) | bit(path_bit::kServiceIdLow);
    }
    if (traffic_.p_key) {
      const bool full = partition_->of(from_) == Membership::Full;
      wanted.p_key = ib::PKey{static_cast<std::uint16_t>(*traffic_.p_key | (full ? 0x8000U : 0U))};
      mask |= bit(path_bit::kPKey);
    }
    const Requester requester{&from_, true};
    out_.path = PathChoice(world_, requester, wanted, mask).path(from_, from_.lid, to_, to_.lid);
  }

  void partition() {
    std::string name;
    for (const auto& p : paths_.snapshot().partitions->partitions.all)
      if (p.p_key == partition_->base) name = ib::printable(p.name);
    std::size_t joined = 0;
    for (const auto& p : policy_.partitions) joined += p.joins(from_, to_);
    const std::string why = traffic_.p_key ? "asked for"
                            : joined == 1  ? "the only one that joins them"
                            : level_ != nullptr && !level_->p_keys.empty()
                                ? fmt::format("the first of those that {} allows", level_->rule)
                                : fmt::format("the first of {} that join them", joined);
    say("P_Key", fmt::format("0x{:04x}", out_.path->p_key.value),
        fmt::format("partition '{}', {}; the source is {}, the destination {}", name, why,
                    membership_text(partition_->of(from_)), membership_text(partition_->of(to_))));
  }

  /// In the order of PathChoice.
  bool by_level() const {
    return level_ != nullptr && level_->sl && !(level_->is_default && partition_->sl);
  }
  ib::Sl intended_sl() const {
    if (by_level()) return *level_->sl;
    return partition_->sl ? *partition_->sl : paths_.sl(from_, to_);
  }
  std::string sl_decider() const {
    if (by_level()) return level_->rule + " says";
    return partition_->sl ? "the partition has" : "the routes have";
  }
  void sl() {
    const ib::Sl sl = out_.path->sl, intended = intended_sl();
    const auto& engine = paths_.snapshot().routing->engine;
    std::string reason;
    if (sl != intended) {
      reason = fmt::format("the routes of {} carry these two by it, where {} SL {}", engine,
                           sl_decider(), intended.value);
    } else if (by_level() || partition_->sl) {
      reason = by_level() ? "sl of " + level_->rule : "sl= of the partition";
    } else {
      reason = fmt::format("the routes of {}: neither policy nor partition asks for one", engine);
    }
    say("SL", fmt::to_string(sl.value), std::move(reason));
  }

  /// "leaf-1 port 3 to spine-1 port 1": the first cable of which `is_it` holds.
  template <class Is>
  std::string cable_where(Is is_it) const {
    const auto& fabric = paths_.snapshot().fabric();
    for (const auto& step : out_.way) {
      if (step.exit == 0) continue;
      const ib::fabric::PortRef at{step.node, step.exit}, far = fabric.port(at).peer;
      if (!is_it(paths_.cable(at))) continue;
      return fmt::format("{} port {} to {} port {}", ib::printable(fabric.node(at.node).name()),
                         at.port, ib::printable(fabric.node(far.node).name()), far.port);
    }
    return "the own port of a switch";
  }

  void mtu() {
    const auto links = paths_.between(from_, to_, to_.lid)->mtu;
    const auto granted = out_.path->mtu;
    std::string reason;
    if (granted >= links) {
      reason = "the least on the way: " +
               cable_where([&](const PathQuality& q) { return q.mtu == links; });
    } else if (level_ != nullptr && level_->mtu_limit == granted) {
      reason = fmt::format("mtu-limit of {}; the links allow {}", level_->rule, mtu_text(links));
    } else {
      reason = fmt::format("enable_quirks, for a Tavor; the links allow {}", mtu_text(links));
    }
    say("MTU", mtu_text(granted), reason);
  }

  void rate() {
    const auto links = paths_.between(from_, to_, to_.lid)->rate;
    const auto granted = out_.path->rate;
    std::string reason;
    if (ib::wire::compare_rates(granted, links) >= 0) {
      reason = "the slowest on the way: " +
               cable_where([&](const PathQuality& q) { return q.rate == links; });
    } else if (level_ != nullptr && level_->rate_limit && granted == *level_->rate_limit) {
      reason = fmt::format("rate-limit of {}; the links allow {}", level_->rule, rate_text(links));
    } else {
      reason = fmt::format(
          "the nearest that the hosts have a code for; {} allow {}",
          level_ != nullptr && level_->rate_limit ? "links and " + level_->rule : "the links",
          rate_text(links));
    }
    say("rate", rate_text(granted), std::move(reason));
  }

  void life() {
    const auto granted = out_.path->packet_life;
    say("packet life", life_text(granted),
        from_.port == to_.port                     ? "to itself takes no link"
        : level_ != nullptr && level_->packet_life ? "packet-life of " + level_->rule
                                                   : "subnet_timeout");
  }

  const World& world_;
  const Paths& paths_;
  const Policy& policy_;
  const policy::QosPolicy* rules_;
  const EndPort &from_, &to_;
  const policy::QosRequest& traffic_;
  const policy::QosGrant* level_;
  const Partition* partition_{nullptr};
  ExplainedPath out_;
};

}  // namespace

ExplainedPath explain(const World& world, const policy::QosPolicy* rules, const EndPort& from,
                      const EndPort& to, const policy::QosRequest& traffic) {
  return Explainer(world, rules, from, to, traffic).run();
}

}  // namespace sm::sa
