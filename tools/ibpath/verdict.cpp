// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What decided a path's values: pure.
#include <fmt/format.h>

#include <algorithm>

#include "libdiag/base/text.h"
#include "libdiag/wire/rates.h"
#include "libdiag/wire/registry.h"
#include "tools/ibpath/explain.h"

namespace ibpath {
namespace {

using ib::wire::component;
using ib::wire::PathRecord;
using ib::wire::PortInfo;

std::string end_text(const LinkEnd& end) {
  return fmt::format("{} port {}", ib::printable(end.name), end.port);
}

std::string link_text(const Way& way, std::size_t link) {
  return fmt::format("link {}, {} to {}", link + 1, end_text(way.links[link].from),
                     end_text(way.links[link].to));
}

std::uint8_t link_mtu(const WayLink& link) {
  return std::min(link.from.info.neighbor_mtu, link.to.info.neighbor_mtu);
}

std::optional<std::uint8_t> port_rate(const PortInfo& port) {
  return ib::wire::rate_code(ib::wire::active_width(port), ib::wire::active_speed(port));
}
/// The slower end's: they differ only while a link comes up.
std::optional<std::uint8_t> link_rate(const WayLink& link) {
  const auto from = port_rate(link.from.info), to = port_rate(link.to.info);
  if (!from || !to) return from ? from : to;
  return ib::wire::compare_rates(*from, *to) <= 0 ? from : to;
}

std::string others(std::size_t count) {
  if (count <= 1) return "";
  return count == 2 ? " (and one more on the path)"
                    : fmt::format(" (and {} more on the path)", count - 1);
}

std::string mtu_text(std::uint8_t code) {
  const auto bytes = ib::wire::mtu_bytes(code);
  return bytes != 0 ? fmt::to_string(bytes) : fmt::format("code {}", code);
}
std::string rate_text(std::uint8_t code) {
  const auto gbps = ib::wire::rate_gbps(code);
  return gbps > 0 ? fmt::format("{} Gb/s", gbps) : fmt::format("code {}", code);
}

/// Which port keeps a link's MTU where it is.
std::string mtu_cause(const WayLink& link) {
  const auto mtu = link_mtu(link);
  const bool from = link.from.info.mtu_cap == mtu, to = link.to.info.mtu_cap == mtu;
  if (from && to) return "neither end can do more";
  if (from) return fmt::format("{} supports no more", end_text(link.from));
  if (to) return fmt::format("{} supports no more", end_text(link.to));
  return fmt::format("both ends could do more (MTUCap {} and {}): the SM set it",
                     mtu_text(link.from.info.mtu_cap), mtu_text(link.to.info.mtu_cap));
}

/// What may keep a path's MTU or rate down: a link, or the own port of a switch at its end.
struct Limit {
  std::uint8_t code{};
  std::string where;                // "link 2, spine-1 port 3 to leaf-2 port 36"
  std::string why;                  // "neither end can do more"
  std::optional<std::size_t> link;  // from 1
};

std::vector<Limit> mtu_limits(const PathFacts& facts) {
  std::vector<Limit> limits;
  for (std::size_t i = 0; i < facts.there.links.size(); ++i) {
    const WayLink& link = facts.there.links[i];
    limits.push_back({link_mtu(link), link_text(facts.there, i), mtu_cause(link), i + 1});
  }
  const auto own = [&](const std::optional<PortInfo>& port, const std::string& name) {
    if (port && port->neighbor_mtu != 0)
      limits.push_back({port->neighbor_mtu, ib::printable(name) + "'s own port 0",
                        fmt::format("its MTUCap is {}", mtu_text(port->mtu_cap)), std::nullopt});
  };
  own(facts.source_port0, facts.source_name);
  own(facts.destination_port0, facts.destination_name);
  return limits;
}

std::string speed_text(const PortInfo& port) {
  return fmt::format("{} {}", ib::wire::width_name(ib::wire::active_width(port)),
                     ib::wire::speed_name(ib::wire::active_speed(port)));
}

std::vector<Limit> rate_limits(const PathFacts& facts) {
  std::vector<Limit> limits;
  for (std::size_t i = 0; i < facts.there.links.size(); ++i)
    if (const auto rate = link_rate(facts.there.links[i]))
      limits.push_back(
          {*rate, link_text(facts.there, i), speed_text(facts.there.links[i].from.info), i + 1});
  const auto own = [&](const std::optional<PortInfo>& port, const std::string& name) {
    if (!port) return;
    // Port 0 has no link, so its rate binds nobody; but some SAs let it limit the path.
    if (const auto rate = port_rate(*port);
        rate && ib::wire::compare_rates(facts.path.rate, *rate) <= 0)
      limits.push_back(
          {*rate, ib::printable(name) + "'s own port 0", speed_text(*port), std::nullopt});
  };
  own(facts.source_port0, facts.source_name);
  own(facts.destination_port0, facts.destination_name);
  return limits;
}

/// The record is of a way that goes on behind a router.
bool leaves_subnet(const PathFacts& facts) {
  return facts.path.dgid.prefix() != facts.path.sgid.prefix();
}

constexpr const char* kAskedFor = "so it was asked for";
/// SA data does not say which rule gave a value.
constexpr const char* kWhichRule = "; ibsm ctl explain says which";

/// Who decided a value that no link did.
std::string rule(const PathFacts& facts, const std::vector<Limit>& limits, bool asked,
                 const std::string& router_option) {
  if (asked) return kAskedFor;
  if (facts.there.links.empty() && limits.empty()) return "the port's own: to itself takes no link";
  if (limits.empty()) return "nothing on the path is known to limit it";
  return fmt::format(
      "{}the partition or a QoS level decided{}",
      leaves_subnet(facts)
          ? fmt::format("what the SA gives to paths beyond a router (ibsm: {}), ", router_option)
          : "",
      kWhichRule);
}

/// The first of the narrowest limits against what the record says; `rule`: who decided where it is
/// none of them.
template <class Compare, class Text>
Reason narrowest(const std::string& subject, std::uint8_t promised,
                 const std::vector<Limit>& limits, const std::string& rule, Compare compare,
                 Text text) {
  Reason r{subject, text(promised), "", std::nullopt, false};
  if (limits.empty()) {
    r.reason = rule;
    return r;
  }
  const Limit* least = &limits.front();
  for (const Limit& limit : limits)
    if (compare(limit.code, least->code) < 0) least = &limit;
  const auto same = static_cast<std::size_t>(std::ranges::count_if(
      limits, [&](const Limit& limit) { return compare(limit.code, least->code) == 0; }));
  const int order = compare(promised, least->code);
  if (order < 0) {
    r.reason = fmt::format("every link could do more (the least is {}, {}): {}", text(least->code),
                           least->where, rule);
    return r;
  }
  r.link = least->link;
  r.wrong = order > 0;
  r.reason = r.wrong ? fmt::format("more than {} does: {} ({})", least->where, text(least->code),
                                   least->why)
                     : fmt::format("{}{}: {}", least->where, others(same), least->why);
  return r;
}

/// A condition with a selector leaves no other value than this one.
template <class Compare>
bool asked_for(ib::wire::Selector how, bool named, std::uint8_t wanted, std::uint8_t promised,
               Compare compare) {
  if (!named) return false;
  const int order = compare(promised, wanted);
  return how == ib::wire::Selector::Exactly ? order == 0
                                            : how == ib::wire::Selector::LessThan && order < 0;
}

int compare_codes(std::uint8_t a, std::uint8_t b) { return int{a} - int{b}; }

Reason mtu_reason(const PathFacts& facts) {
  const auto& [wanted, mask] = facts.asked;
  const bool asked = asked_for(wanted.mtu_selector, (mask & component<&PathRecord::mtu>()) != 0,
                               wanted.mtu, facts.path.mtu, compare_codes);
  const auto limits = mtu_limits(facts);
  return narrowest("MTU", facts.path.mtu, limits, rule(facts, limits, asked, "rtr_pr_mtu"),
                   compare_codes, mtu_text);
}

Reason rate_reason(const PathFacts& facts) {
  const auto& [wanted, mask] = facts.asked;
  const bool asked = asked_for(wanted.rate_selector, (mask & component<&PathRecord::rate>()) != 0,
                               wanted.rate, facts.path.rate, ib::wire::compare_rates);
  const auto limits = rate_limits(facts);
  auto r = narrowest("rate", facts.path.rate, limits, rule(facts, limits, asked, "rtr_pr_rate"),
                     ib::wire::compare_rates, rate_text);
  // In the order of speed 120 Gb/s come before 100.
  const auto puzzles = [&](std::uint8_t code) {
    return ib::wire::compare_rates(facts.path.rate, code) < 0 &&
           ib::wire::rate_gbps(facts.path.rate) > ib::wire::rate_gbps(code);
  };
  std::optional<std::uint8_t> faster;
  for (const Limit& limit : limits)
    if (puzzles(limit.code)) faster = limit.code;
  if (asked && puzzles(wanted.rate)) faster = wanted.rate;
  if (!r.link && !r.wrong && faster)
    r.reason += fmt::format("; {} with 8b/10b carries less data than {} with 64b/66b",
                            rate_text(facts.path.rate), rate_text(*faster));
  return r;
}

Reason sl_reason(const PathFacts& facts) {
  constexpr std::uint8_t kDropVl = 15;
  Reason r{"SL", fmt::to_string(facts.path.sl.value), "", std::nullopt, false};
  for (std::size_t i = 0; i < facts.there.links.size(); ++i) {
    const WayLink& link = facts.there.links[i];
    if (!link.vl) continue;
    const auto vls = ib::wire::data_vls(link.from.info.operational_vls);
    if (*link.vl == kDropVl || (vls != 0 && *link.vl >= vls)) {
      r.wrong = true;
      r.link = i + 1;
      r.reason = fmt::format("mapped to VL {} where {} data VLs work: packets are dropped at {}",
                             *link.vl, vls, link_text(facts.there, i));
      return r;
    }
  }
  if ((facts.asked.mask & component<&PathRecord::sl>()) != 0) {
    r.reason = kAskedFor;
  } else if (leaves_subnet(facts) && facts.path.sl.value != 0) {
    r.reason = "what the SA gives to paths beyond a router (ibsm: rtr_pr_sl), or a QoS level";
    r.reason += kWhichRule;
  } else if (facts.broadcast_group && facts.broadcast_group->sl == facts.path.sl) {
    r.reason = "the SL of the partition, as its broadcast group has it";
  } else if (facts.path.sl.value == 0) {
    r.reason = "the default: neither partition, QoS policy nor routing engine asks for another";
  } else {
    r.reason = "a QoS level, or the routing engine to keep the way free of deadlock";
    r.reason += kWhichRule;
  }
  return r;
}

const ib::PKey* find_key(const std::vector<ib::PKey>& keys, ib::PKey wanted) {
  const auto key = std::ranges::find_if(
      keys, [&](ib::PKey k) { return k.value != 0 && k.base() == wanted.base(); });
  return key == keys.end() ? nullptr : &*key;
}

Reason p_key_reason(const PathFacts& facts) {
  Reason r{"P_Key", fmt::format("0x{:04x}", facts.path.p_key.value), "", std::nullopt, false};
  if (!facts.source_keys || !facts.destination_keys) {
    r.reason = "the ports' P_Key tables are not shown to us (--smkey)";
    return r;
  }
  const auto* source = find_key(*facts.source_keys, facts.path.p_key);
  const auto* destination = find_key(*facts.destination_keys, facts.path.p_key);
  if (source == nullptr || destination == nullptr) {
    r.wrong = true;
    r.reason =
        fmt::format("not in the P_Key table of {}",
                    ib::printable(source == nullptr ? facts.source_name : facts.destination_name));
    return r;
  }
  if (!source->is_full() && !destination->is_full()) {
    r.wrong = true;
    r.reason = "both ends are limited members, which cannot communicate with each other";
    return r;
  }
  std::size_t shared = 0;
  for (const ib::PKey key : *facts.source_keys)
    if (key.value != 0 && find_key(*facts.destination_keys, key) != nullptr) ++shared;
  const auto* membership = source->is_full() && destination->is_full() ? "both full members"
                           : source->is_full() ? "the destination a limited member"
                                               : "the source a limited member";
  r.reason = shared == 1 ? fmt::format("the only one both ends have, {}", membership)
                         : fmt::format("one of {} that both ends have, {}", shared, membership);
  return r;
}

Reason life_reason(const PathFacts& facts) {
  const double us = 4.096 * static_cast<double>(std::uint64_t{1} << facts.path.packet_life);
  Reason r{"packet life",
           us < 1e6 ? fmt::format("{:.3g} ms", us / 1e3) : fmt::format("{:.3g} s", us / 1e6), "",
           std::nullopt, false};
  r.reason = fmt::format("code {}: ", facts.path.packet_life);
  const auto& [wanted, mask] = facts.asked;
  if (asked_for(wanted.packet_life_selector, (mask & component<&PathRecord::packet_life>()) != 0,
                wanted.packet_life, facts.path.packet_life, compare_codes))
    r.reason += kAskedFor;
  else
    r.reason += facts.there.links.size() <= 1 && facts.path.packet_life == 0
                    ? "no switch on the path holds packets"
                    : "the SA's own value; no link decides it";
  return r;
}

bool same_cables(const Way& there, const Way& back) {
  if (there.links.size() != back.links.size()) return false;
  const auto same = [](const LinkEnd& a, const LinkEnd& b) {
    return a.lid == b.lid && a.port == b.port;
  };
  for (std::size_t i = 0; i < there.links.size(); ++i) {
    const WayLink& out = there.links[i];
    const WayLink& home = back.links[back.links.size() - 1 - i];
    if (!same(out.from, home.to) || !same(out.to, home.from)) return false;
  }
  return true;
}

Reason reversible_reason(const PathFacts& facts) {
  Reason r{"reversible", facts.path.reversible ? "yes" : "no", "", std::nullopt, false};
  if (!facts.back.broken.empty()) {
    r.wrong = facts.path.reversible;
    r.reason = "the return path is broken: " + facts.back.broken;
    return r;
  }
  const auto links = facts.back.links.size();
  std::string way = same_cables(facts.there, facts.back)
                        ? "the return path takes the same links"
                        : fmt::format("the return path takes other links, {} links", links);
  if (!facts.back_path) {
    r.wrong = facts.path.reversible;
    r.reason = way + "; but the SA gives no path back";
  } else if (facts.back_path->sl != facts.path.sl) {
    // Packets from another subnet come by the SL that their router gives them.
    r.wrong = facts.path.reversible && !leaves_subnet(facts);
    r.reason = fmt::format("{}; but with SL {}", way, facts.back_path->sl.value);
  } else {
    r.reason = fmt::format("{}, with the same SL", way);
  }
  return r;
}

/// What is wrong with the way itself.
std::vector<Reason> route_reasons(const PathFacts& facts) {
  std::vector<Reason> reasons;
  if (!facts.there.broken.empty())
    reasons.push_back({"route", "broken", facts.there.broken, std::nullopt, true});
  for (std::size_t i = 0; i < facts.there.links.size(); ++i) {
    for (const LinkEnd* end : {&facts.there.links[i].from, &facts.there.links[i].to}) {
      const auto state = static_cast<std::uint64_t>(end->info.port_state);
      if (end->info.port_state == ib::wire::PortState::Active) continue;
      const auto name = ib::wire::value_name("PortState", state);
      reasons.push_back(
          {"route", "not open",
           fmt::format("{}: {} is {}", link_text(facts.there, i), end_text(*end),
                       name.empty() ? fmt::format("in state {}", state) : std::string(name)),
           i + 1, true});
    }
  }
  return reasons;
}

}  // namespace

std::vector<Reason> judge(const PathFacts& facts) {
  std::vector<Reason> reasons = route_reasons(facts);
  for (const auto judged :
       {mtu_reason, rate_reason, sl_reason, p_key_reason, life_reason, reversible_reason})
    reasons.push_back(judged(facts));
  return reasons;
}

}  // namespace ibpath
