// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Why no path meets a condition, by the path there is without it: pure.
#include <fmt/format.h>

#include <algorithm>

#include "libdiag/wire/rates.h"
#include "tools/ibpath/explain.h"

namespace ibpath {
namespace {

using ib::wire::component;
using ib::wire::PathRecord;
using ib::wire::Selector;

constexpr const char* kNoneWithIt = "the SA gives no path with it";

/// What decides a value of the path there is.
Reason decided(const PathFacts& facts, std::string_view subject) {
  const auto reasons = judge(facts);
  const auto at = std::ranges::find(reasons, subject, &Reason::subject);
  Reason r = at == reasons.end() ? Reason{} : *at;
  r.value = fmt::format("{} {}", subject, r.value);
  return r;
}

struct Wish {
  Selector how;
  bool known;  // the code is one that there is
  bool least;  // there is none below it
  int order;   // <0, 0, >0: the path has less, just that, more
};

/// An MTU or a rate: the link that keeps it down, unless it is too high as it is.
Reason too_much(Reason r, const Wish& wish, std::string_view lower) {
  const auto rule = [&](std::string reason) {
    r.reason = std::move(reason);
    r.link.reset();
  };
  if (!wish.known)
    rule("the code is unknown");
  else if (wish.how == Selector::LessThan && wish.least)
    rule(fmt::format("there is no {} one", lower));
  else if (wish.how == Selector::LessThan || (wish.how == Selector::Exactly && wish.order >= 0))
    rule("links could carry it; the SA gives no path with just this value");
  return r;
}

Reason about_sl(const PathFacts& without, std::uint8_t wanted) {
  auto r = decided(without, "SL");
  if (without.asked_sl_way) {
    PathFacts tried = without;
    tried.path.sl = ib::Sl{wanted};
    tried.there = *without.asked_sl_way;
    if (const auto there = decided(tried, "SL"); there.wrong) {
      r.reason = fmt::format("SL {} is {}", wanted, there.reason);
      r.link = there.link;
      return r;
    }
  }
  r.reason = fmt::format("the SA gives no path with SL {}: without, it is {}", wanted, r.reason);
  return r;
}

Reason about_p_key(const PathFacts& without, ib::PKey wanted) {
  PathFacts tried = without;
  tried.path.p_key = wanted;
  auto r = decided(tried, "P_Key");
  if (!r.wrong) r.reason += fmt::format("; {}", kNoneWithIt);
  return r;
}

Reason about(const PathQuery& asked, const PathFacts& without) {
  const PathRecord& wanted = asked.record;
  const auto names = [&](std::uint64_t bits) { return (asked.mask & bits) != 0; };
  if (names(component<&PathRecord::mtu>()))
    return too_much(decided(without, "MTU"),
                    {wanted.mtu_selector, ib::wire::mtu_bytes(wanted.mtu) != 0, wanted.mtu == 1,
                     int{without.path.mtu} - int{wanted.mtu}},
                    "smaller");
  if (names(component<&PathRecord::rate>()))
    return too_much(decided(without, "rate"),
                    {wanted.rate_selector, ib::wire::rate_gbps(wanted.rate) > 0,
                     !ib::wire::next_slower_rate(wanted.rate),
                     ib::wire::compare_rates(without.path.rate, wanted.rate)},
                    "slower");
  if (names(component<&PathRecord::sl>())) return about_sl(without, wanted.sl.value);
  if (names(component<&PathRecord::p_key>())) return about_p_key(without, wanted.p_key);
  if (names(component<&PathRecord::packet_life>())) return decided(without, "packet life");
  if (names(component<&PathRecord::reversible>())) return decided(without, "reversible");
  return {"", "", kNoneWithIt, std::nullopt, false};
}

}  // namespace

Reason unmet(const std::string& condition, const PathQuery& asked, const PathFacts& without) {
  auto r = about(asked, without);
  r.subject = condition;
  r.wrong = false;
  return r;
}

}  // namespace ibpath
