// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/engines/engines.h"

#include <algorithm>
#include <array>

#include "libdiag/route/engine.h"

namespace ib::route {
namespace {

constexpr std::array kEngines{
    EngineEntry{"minhop", "fewest hops, loads even; may form credit loops where links form cycles",
                minhop, minhop_candidates},
    EngineEntry{"dfp",
                "fewest hops, no credit loop, VLs by turn: Dragonfly+ and other networks with "
                "short paths",
                dfp},
    EngineEntry{"dor",
                "fewest hops, lowest port first; free of credit loops on meshes cabled alike", dor},
    EngineEntry{"updn", "up towards the roots, then down: free of credit loops on any fabric", updn,
                updn_candidates},
    EngineEntry{"ftree",
                "fat trees, whole or damaged: up, then down, loads even; free of credit loops",
                ftree, ftree_candidates},
    EngineEntry{"valley",
                "fewest hops on trees with hosts above the leaves: valleys on SLs of their own, no "
                "credit loops",
                valley},
    EngineEntry{"dnup", "away from the hosts, then back: free of credit loops on any fabric", dnup,
                dnup_candidates},
    EngineEntry{"nue", "no credit loops on any fabric with any number of VLs", nue},
    EngineEntry{"torus-2QoS",
                "tori and meshes of up to three dimensions; no credit loops, two levels of service",
                torus_2qos},
    EngineEntry{"sssp", "fewest hops, loads even along whole paths; may form credit loops", sssp},
    EngineEntry{"dfsssp", "sssp whose credit loops are taken apart by several VLs", dfsssp},
    EngineEntry{"lash", "one shortest path for two switches, few VLs, no credit loops", lash},
    EngineEntry{"chain", "parts of the fabric by engines of their own, one after the other", chain,
                nullptr, [](const Options& options) { return options.chain != nullptr; }},
    EngineEntry{"file", "tables or hop counts from files, LIDs found again by port GUID", file,
                nullptr, [](const Options& options) { return options.tables != nullptr; }},
};

}  // namespace

std::span<const EngineEntry> engines() { return kEngines; }

const EngineEntry* find_engine(std::string_view name) {
  const auto at = std::find_if(kEngines.begin(), kEngines.end(),
                               [&](const EngineEntry& e) { return name == e.name; });
  return at == kEngines.end() ? nullptr : &*at;
}

}  // namespace ib::route
