// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/election.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace sm::core::election {
namespace {

constexpr SmState kDiscovering = SmState::Discovering, kStandby = SmState::Standby,
                  kMaster = SmState::Master, kNotActive = SmState::NotActive;

constexpr std::array kTransitions = {
    Transition{kDiscovering, Event::NobodyAbove, kMaster, Action::Manage},
    Transition{kDiscovering, Event::MasterFound, kStandby, Action::Poll},
    Transition{kDiscovering, Event::Handover, kDiscovering, Action::Sweep},
    Transition{kStandby, Event::MasterFound, kStandby, Action::Poll},
    Transition{kStandby, Event::NobodyAbove, kDiscovering, Action::Sweep},
    Transition{kStandby, Event::MasterGone, kDiscovering, Action::Sweep},
    Transition{kStandby, Event::Discover, kDiscovering, Action::Sweep},
    Transition{kStandby, Event::Handover, kMaster, Action::Sweep},
    Transition{kStandby, Event::Acknowledge, kStandby, Action::None},
    Transition{kStandby, Event::Disable, kNotActive, Action::None},
    Transition{kNotActive, Event::Standby, kStandby, Action::Poll},
    Transition{kMaster, Event::NobodyAbove, kMaster, Action::Manage},
    Transition{kMaster, Event::HigherFound, kMaster, Action::HandOver},
    Transition{kMaster, Event::HandoverTaken, kStandby, Action::Poll},
    Transition{kMaster, Event::Acknowledge, kStandby, Action::Poll},
    Transition{kMaster, Event::HandoverRefused, kMaster, Action::Sweep},
    Transition{kMaster, Event::MastersMeet, kMaster, Action::Wait},
    Transition{kMaster, Event::MasterGone, kMaster, Action::Sweep},
    Transition{kMaster, Event::Handover, kMaster, Action::Sweep},
};

struct Control {
  Event event;
  std::uint32_t modifier;
  SmState sender;
};
constexpr std::array kControls = {
    Control{Event::Handover, 1, kMaster}, Control{Event::Acknowledge, 2, kStandby},
    Control{Event::Disable, 3, kMaster},  Control{Event::Standby, 4, kMaster},
    Control{Event::Discover, 5, kMaster},
};
const Control& control_of(Event event) {
  return *std::ranges::find(kControls, event, &Control::event);
}

constexpr std::array<std::string_view, 4> kStateNames = {"NOTACTIVE", "DISCOVERING", "STANDBY",
                                                         "MASTER"};
constexpr std::array<std::string_view, 12> kEventNames = {
    "none above", "master found", "higher found",   "masters meet",
    "HANDOVER",   "ACKNOWLEDGE",  "DISABLE",        "STANDBY",
    "DISCOVER",   "master gone",  "handover taken", "handover refused"};
constexpr std::array<std::string_view, 6> kActionNames = {"none", "sweep",     "manage",
                                                          "poll", "hand over", "wait"};

template <std::size_t N, class Enum>
std::string_view name_in(const std::array<std::string_view, N>& names, Enum value) {
  const auto at = static_cast<std::size_t>(value);
  return at < N ? names[at] : std::string_view("?");
}

Rank rank_of(const ib::wire::SmInfo& info) { return {info.priority, info.guid}; }

/// The highest of those that `counts`.
template <class Counts>
const ib::wire::SmInfo* highest(std::span<const ib::wire::SmInfo> others, const Counts& counts) {
  const ib::wire::SmInfo* best = nullptr;
  for (const auto& info : others)
    if (counts(info) && (best == nullptr || ranks_above(rank_of(info), rank_of(*best))))
      best = &info;
  return best;
}

}  // namespace

std::string_view state_name(SmState state) { return name_in(kStateNames, state); }
std::string_view event_name(Event event) { return name_in(kEventNames, event); }
std::string_view action_name(Action action) { return name_in(kActionNames, action); }

bool ranks_above(const Rank& a, const Rank& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.guid < b.guid;
}

std::span<const Transition> transitions() { return kTransitions; }

const Transition* transition(SmState from, Event event) {
  const auto at = std::ranges::find_if(
      kTransitions, [&](const Transition& t) { return t.from == from && t.event == event; });
  return at == kTransitions.end() ? nullptr : &*at;
}

std::optional<Event> control_packet(std::uint32_t modifier) {
  const auto at = std::ranges::find(kControls, modifier, &Control::modifier);
  if (at == kControls.end()) return std::nullopt;
  return at->event;
}
std::uint32_t attribute_modifier(Event control) { return control_of(control).modifier; }
SmState state_of_sender(Event control) { return control_of(control).sender; }

Finding judge(SmState state, const Rank& own, std::span<const ib::wire::SmInfo> others) {
  const auto is_above = [&](const auto& info) { return ranks_above(rank_of(info), own); };
  const auto is_master = [](const auto& info) { return info.sm_state == kMaster; };
  if (state == kMaster) {
    // One that is still discovering finds us, and stands by first.
    const auto* higher = highest(others, [&](const auto& info) {
      return is_above(info) && (is_master(info) || info.sm_state == kStandby);
    });
    if (higher != nullptr) return {Event::HigherFound, higher->guid};
    const auto* lower = highest(others, is_master);
    if (lower != nullptr) return {Event::MastersMeet, lower->guid};
    return {};
  }
  const auto* master = highest(others, is_master);
  if (master == nullptr)
    master = highest(
        others, [&](const auto& info) { return is_above(info) && info.sm_state != kNotActive; });
  if (master != nullptr) return {Event::MasterFound, master->guid};
  return {};
}

}  // namespace sm::core::election
