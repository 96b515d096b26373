// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/plan/service_classes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>

#include "libdiag/route/multicast/multicast.h"

namespace sm::plan {
namespace {

using ib::Sl;
using ib::fabric::SwitchIndex;
using ib::tables::SlToVlRow;

constexpr unsigned kSls = 16;
constexpr std::uint8_t kDrop = 15;
constexpr unsigned kWeightMax = 255;

std::uint16_t bit(unsigned i) { return static_cast<std::uint16_t>(1U << i); }
bool has(std::uint16_t bits, unsigned i) { return ((bits >> i) & 1U) != 0; }
Sl sl_of(unsigned i) { return Sl{static_cast<std::uint8_t>(i)}; }

std::uint8_t folded(std::uint8_t vl, unsigned vls) {
  return vl == kDrop ? kDrop : static_cast<std::uint8_t>(vl % std::max(vls, 1U));
}

/// Deals SLs to every pair of a class and an SL of the engine.
class Dealer {
 public:
  Dealer(const ib::route::Routes& routes, std::size_t switches, const ServiceClasses& classes,
         const policy::SlToVlTemplate& map, unsigned vls)
      : routes_(routes),
        switches_(switches),
        classes_(classes),
        map_(map),
        vls_(vls),
        sls_(classes.size()) {
    find_engine_sls();
    for (const std::uint16_t set : classes_) used_ |= set;
    for (unsigned sl = 0; sl < kSls; ++sl)
      if (map_[sl] == kDrop) dropped_ |= bit(sl);
  }

  std::optional<ClassMapping> run() {
    ClassMapping out{routes_.virtual_lanes, routes_.multicast,
                     std::max<unsigned>(1, routes_.vls_used), classes_.size()};
    if (classes_.size() == 1) {
      for (unsigned level = 0; level < kSls; ++level)
        for (unsigned sl = 0; sl < kSls; ++sl)
          out.virtual_lanes.levels.set(
              sl_of(level), sl_of(sl),
              has(dropped_, level) ? std::nullopt : std::optional(sl_of(sl)));
      return out;
    }
    if (!deal()) return std::nullopt;
    change_rows(out);
    change_sls(out.virtual_lanes.sls);
    set_levels(out.virtual_lanes.levels);
    set_multicast(out.multicast);
    return out;
  }

 private:
  void find_engine_sls() {
    const auto& sls = routes_.virtual_lanes.sls;
    std::uint16_t found = 0;
    if (sls.uniform()) {
      found = bit(sls.at(0, 0).value);
    } else {
      for (SwitchIndex a = 0; a < switches_; ++a)
        for (SwitchIndex b = 0; b < switches_; ++b) found |= bit(sls.at(a, b).value & 15U);
    }
    if (claims(routes_.multicast)) found |= bit(routes_.multicast.sl.value & 15U);
    for (unsigned sl = 0; sl < kSls; ++sl)
      if (has(found, sl)) engine_sls_.push_back(sl);
    tree_sl_ = claims(routes_.multicast) ? routes_.multicast.sl.value & 15U : engine_sls_.front();
  }

  /// The trees' SL of a class is its lowest; others are the class's own first, then nobody's, last
  /// those that the operator's mapping drops.
  bool deal() {
    std::uint16_t taken = 0;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      const auto own = static_cast<unsigned>(std::countr_zero(classes_[c]));
      assign(c, tree_sl_, own);
      taken |= bit(own);
    }
    for (std::size_t c = 0; c < classes_.size(); ++c)
      for (const unsigned engine_sl : engine_sls_) {
        if (engine_sl == tree_sl_) continue;
        std::uint16_t choice = classes_[c] & ~taken;
        if (choice == 0) choice = static_cast<std::uint16_t>(~(used_ | dropped_ | taken));
        if (choice == 0) choice = static_cast<std::uint16_t>(~(used_ | taken));
        if (choice == 0) return false;
        const auto sl = static_cast<unsigned>(std::countr_zero(choice));
        assign(c, engine_sl, sl);
        taken |= bit(sl);
      }
    for (unsigned sl = 0; sl < kSls; ++sl)
      if (!has(taken, sl) && !has(dropped_, sl)) meaning_[sl] = {class_of(sl), tree_sl_};
    return true;
  }
  void assign(std::size_t c, unsigned engine_sl, unsigned sl) {
    sls_[c][engine_sl] = sl;
    meaning_[sl] = {c, engine_sl};
  }
  std::size_t class_of(unsigned sl) const {
    for (std::size_t c = 0; c < classes_.size(); ++c)
      if (has(classes_[c], sl)) return c;
    for (std::size_t c = 0; c < classes_.size(); ++c)
      for (unsigned other = 0; other < kSls; ++other)
        if (has(classes_[c], other) && folded(map_[other], vls_) == folded(map_[sl], vls_))
          return c;
    return 0;
  }

  void change_rows(ClassMapping& out) const {
    out.virtual_lanes.sl_to_vl.change_rows([&](const SlToVlRow& row) {
      SlToVlRow changed;
      for (unsigned sl = 0; sl < kSls; ++sl) {
        changed.vl[sl] = kDrop;
        if (!meaning_[sl]) continue;
        const std::uint8_t vl = row.vl[meaning_[sl]->engine_sl];
        if (vl != kDrop)
          changed.vl[sl] =
              static_cast<std::uint8_t>(meaning_[sl]->in * out.vls_each + vl % out.vls_each);
      }
      return changed;
    });
  }

  void change_sls(ib::tables::PathSls& sls) const {
    const auto first = [&](Sl routed) { return sl_of(sls_[0][routed.value & 15U]); };
    if (sls.uniform()) {
      sls = ib::tables::PathSls(first(sls.at(0, 0)));
      return;
    }
    for (SwitchIndex a = 0; a < switches_; ++a)
      for (SwitchIndex b = 0; b < switches_; ++b) sls.set_one_way(a, b, first(sls.at(a, b)));
  }

  void set_levels(ib::tables::LevelSls& levels) const {
    for (unsigned level = 0; level < kSls; ++level)
      for (unsigned routed = 0; routed < kSls; ++routed)
        levels.set(sl_of(level), sl_of(routed),
                   has(dropped_, level) ? std::nullopt : std::optional(sl_of(level)));
    for (unsigned level = 0; level < kSls; ++level) {
      if (has(dropped_, level)) continue;
      const std::size_t c = class_of(level);
      for (const unsigned engine_sl : engine_sls_) {
        const bool stays = meaning_[level]->in == c && meaning_[level]->engine_sl == engine_sl;
        levels.set(sl_of(level), sl_of(sls_[0][engine_sl]),
                   sl_of(stays ? level : sls_[c][engine_sl]));
      }
    }
  }

  void set_multicast(ib::route::MulticastRule& rule) const {
    if (!claims(rule)) return;
    rule.sl = sl_of(sls_[0][tree_sl_]);
    rule.sls = 0;
    for (unsigned sl = 0; sl < kSls; ++sl)
      if (meaning_[sl] && meaning_[sl]->engine_sl == tree_sl_) rule.sls |= bit(sl);
  }

  struct Meaning {
    std::size_t in{};      // class
    unsigned engine_sl{};  // whose turns it takes
  };
  const ib::route::Routes& routes_;
  std::size_t switches_;
  const ServiceClasses& classes_;
  const policy::SlToVlTemplate& map_;
  unsigned vls_;
  std::uint16_t used_{0}, dropped_{0};
  std::vector<unsigned> engine_sls_;
  unsigned tree_sl_{0};
  std::vector<std::array<unsigned, kSls>> sls_;         // by class, by SL of the engine
  std::array<std::optional<Meaning>, kSls> meaning_{};  // by SL; none: dropped
};

}  // namespace

ServiceClasses service_classes(std::uint16_t used, const policy::SlToVlTemplate& map,
                               unsigned vls) {
  ServiceClasses classes;
  std::map<std::uint8_t, std::size_t> by_vl;
  for (unsigned sl = 0; sl < kSls; ++sl) {
    if (!has(used, sl) || map[sl] == kDrop) continue;
    const auto [at, fresh] = by_vl.emplace(folded(map[sl], vls), classes.size());
    if (fresh) classes.push_back(0);
    classes[at->second] |= bit(sl);
  }
  if (classes.empty()) classes.push_back(0);
  return classes;
}

ServiceClasses merged(ServiceClasses classes, std::size_t count) {
  for (; classes.size() > count; classes.pop_back()) classes[classes.size() - 2] |= classes.back();
  return classes;
}

std::string class_names(const ServiceClasses& classes) {
  std::vector<std::string> names;
  for (const std::uint16_t set : classes) {
    std::vector<unsigned> sls;
    for (unsigned sl = 0; sl < kSls; ++sl)
      if (has(set, sl)) sls.push_back(sl);
    names.push_back(sls.size() == 1 ? fmt::format("SL {}", sls[0])
                                    : fmt::format("SLs {}", fmt::join(sls, " and ")));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::optional<ClassMapping> map_classes(const ib::route::Routes& routes, std::size_t switch_count,
                                        const ServiceClasses& classes,
                                        const policy::SlToVlTemplate& map, unsigned vls) {
  return Dealer(routes, switch_count, classes, map, vls).run();
}

namespace {

/// VLs of each class by the operator's mapping, a bit each.
using ClassVls = std::vector<std::uint16_t>;

ClassVls vls_of_classes(const policy::VlSettings& written, const ServiceClasses& classes,
                        unsigned link) {
  std::uint16_t weighted = 0;
  for (const auto* table : {&written.low, &written.high})
    for (const policy::VlWeight& entry : *table)
      if (entry.weight != 0) weighted |= bit(entry.vl);
  ClassVls vls(classes.size(), 0);
  for (std::size_t c = 0; c < classes.size(); ++c)
    for (unsigned sl = 0; sl < kSls; ++sl) {
      const std::uint8_t vl = written.sl_to_vl[sl];
      if (has(classes[c], sl) && vl != kDrop) vls[c] |= bit(has(weighted, vl) ? vl : vl % link);
    }
  return vls;
}

policy::VlArbitrationTemplate shared(const policy::VlArbitrationTemplate& written,
                                     const ClassVls& vls, const ClassMapping& class_mapping,
                                     unsigned link) {
  std::array<std::uint64_t, kSls> of_vl{};
  for (const policy::VlWeight& entry : written) of_vl[entry.vl] += entry.weight;
  std::array<unsigned, kSls> sharers{};  // classes that share a VL
  for (const std::uint16_t set : vls)
    for (unsigned vl = 0; vl < kSls; ++vl) sharers[vl] += has(set, vl) ? 1 : 0;
  std::uint64_t common = 1;
  for (const unsigned count : sharers) common = std::lcm(common, std::max(count, 1U));
  // A VL's weights in units of 1 / (common * VLs of a class).
  const unsigned each = vls.size() == 1 ? link : class_mapping.vls_each;
  std::vector<std::uint64_t> weights(link, 0);
  for (std::size_t c = 0; c < vls.size(); ++c) {
    std::uint64_t weight = 0;
    for (unsigned vl = 0; vl < kSls; ++vl)
      if (has(vls[c], vl)) weight += of_vl[vl] * (common / sharers[vl]);
    for (unsigned i = 0; i < each; ++i) weights[(c * each + i) % link] += weight;
  }
  std::uint64_t divisor = common * each;
  for (const std::uint64_t weight : weights) divisor = std::gcd(divisor, weight);
  std::uint64_t most = 1;
  for (std::uint64_t& weight : weights) most = std::max(most, weight /= divisor);
  policy::VlArbitrationTemplate table;
  for (unsigned vl = 0; vl < link; ++vl) {
    if (weights[vl] == 0) continue;
    const std::uint64_t fits = most <= kWeightMax
                                   ? weights[vl]
                                   : std::max<std::uint64_t>(1, weights[vl] * kWeightMax / most);
    table.push_back({static_cast<std::uint8_t>(vl), static_cast<std::uint8_t>(fits)});
  }
  return table;
}

}  // namespace

ClassWeights class_arbitration(const policy::VlSettings& written, const ServiceClasses& classes,
                               const ClassMapping& class_mapping, unsigned link_vls) {
  const unsigned link = std::max(link_vls, 1U);
  const ClassVls vls = vls_of_classes(written, classes, link);
  ClassWeights out{shared(written.low, vls, class_mapping, link),
                   shared(written.high, vls, class_mapping, link)};
  const unsigned used = classes.size() == 1 ? link : std::min<unsigned>(link, class_mapping.vls());
  for (unsigned vl = 0; vl < used; ++vl) {
    const auto has_it = [&](const policy::VlArbitrationTemplate& table) {
      return std::ranges::find(table, vl, &policy::VlWeight::vl) != table.end();
    };
    if (!has_it(out.low) && !has_it(out.high))
      out.low.push_back({static_cast<std::uint8_t>(vl), 1});
  }
  return out;
}

}  // namespace sm::plan
