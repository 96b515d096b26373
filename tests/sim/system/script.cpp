// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/sim/system/script.h"

#include <algorithm>

#include "tests/sim/system/dice.h"
#include "tests/sim/system/kinds.h"
#include "tests/sim/system/topologies.h"

namespace soak {
namespace {

using namespace std::chrono_literals;

/// Engines that fit many fabrics; where the named one does not fit, ibsm chooses.
constexpr const char* kEngines[] = {"",      "",    "minhop", "updn",   "dnup",
                                    "ftree", "dor", "lash",   "dfsssp", "nue"};

void draw_managers(Dice& dice, Script& script) {
  sm::core::Options& options = script.managers;
  options.plan.lmc = static_cast<std::uint8_t>(dice.chance(70) ? 0 : dice.from(1, 2));
  script.engine = kEngines[dice.below(std::size(kEngines))];
  if (!script.engine.empty()) options.plan.choice.engines = {script.engine};
  // As where devices answer slowly. That they are not read at all is no option of ibsm.
  if (dice.chance(20)) options.read_tables_after = 2s;
  if (dice.chance(10)) options.mastership.master_priority = std::uint8_t{12};
  script.shares_store = dice.chance(50);
  script.has_partitions = dice.chance(30);
  const unsigned seats = dice.chance(45) ? 1 : dice.from(2, 4);
  for (unsigned i = 0; i < seats; ++i)
    script.seats.push_back(
        {dice.next(), static_cast<std::uint8_t>(dice.below(3)), seats > 1 && dice.chance(15)});
}

/// The item's time: while the subnet comes up, or when it is up.
ib::Duration draw_time(Dice& dice, ib::Duration horizon) {
  const ib::Duration within = dice.chance(30) ? ib::Duration(60ms) : horizon;
  return ib::Duration(
      static_cast<std::int64_t>(dice.next() % static_cast<std::uint64_t>(within.count())));
}

const Kind* draw_kind(Dice& dice) {
  unsigned all = 0;
  for (const Kind& kind : kinds()) all += kind.weight;
  unsigned left = dice.below(all);
  for (const Kind& kind : kinds()) {
    if (left < kind.weight) return &kind;
    left -= kind.weight;
  }
  return nullptr;
}

}  // namespace

Script draw(const Case& c) {
  Dice dice(c.seed);
  Script script;
  Topology topology = draw_topology(dice, c.size);
  script.topology = std::move(topology.words);
  script.fabric = std::move(topology.fabric);
  script.model.seed = dice.next();
  script.model.no_lid_of_cas = ib::Lid{static_cast<std::uint16_t>(dice.chance(30) ? 0xFFFF : 0)};
  script.model.optimized_sl_to_vl = static_cast<std::uint8_t>(dice.chance(70) ? 1 : 0);
  script.has_state_tables = script.model.seed % 4 == 0;
  draw_managers(dice, script);
  script.clients = dice.from(1, 5);
  constexpr ib::Duration kHorizons[] = {200ms, 2s, 8s};
  const ib::Duration horizon = kHorizons[dice.below(std::size(kHorizons))];
  const unsigned items = dice.from(1, 12);
  for (unsigned number = 0; number < items; ++number) {
    Item item{draw_kind(dice), draw_time(dice, horizon), {}, number};
    for (std::uint64_t& pick : item.picks) pick = dice.next();
    if (c.kept && !std::ranges::binary_search(*c.kept, number)) continue;
    script.items.push_back(item);
  }
  std::ranges::stable_sort(script.items, {}, &Item::at);
  for (const Item& item : script.items)
    if (item.kind->prepare != nullptr) item.kind->prepare(script, item);
  return script;
}

}  // namespace soak
