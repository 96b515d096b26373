// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/states.h"

#include <algorithm>
#include <array>

namespace sm::core {
namespace {

constexpr std::array kTransitions = {
    Transition{State::Idle, Event::SweepDue, State::Sweeping},
    Transition{State::Idle, Event::RerouteDue, State::Planning},
    Transition{State::Idle, Event::MembersDue, State::Programming},
    Transition{State::Idle, Event::LookDue, State::Looking},
    Transition{State::Looking, Event::Looked, State::Idle},
    Transition{State::Sweeping, Event::Inconsistent, State::Idle},
    Transition{State::Sweeping, Event::Swept, State::Deciding},
    Transition{State::Deciding, Event::Inconsistent, State::Idle},
    Transition{State::Deciding, Event::ToBeManaged, State::Planning},
    Transition{State::Deciding, Event::ToBeRecalled, State::Recalling},
    Transition{State::Recalling, Event::Recalled, State::Planning},
    Transition{State::Reading, Event::ReadToRecall, State::Recalling},
    Transition{State::Recalling, Event::RecalledToRead, State::Reading},
    Transition{State::Deciding, Event::LeftToOthers, State::Idle},
    Transition{State::Planning, Event::PlanToRead, State::Reading},
    Transition{State::Planning, Event::Planned, State::Applying},
    Transition{State::Planning, Event::PlanDropped, State::Idle},
    Transition{State::Reading, Event::Applied, State::Applying},
    Transition{State::Reading, Event::PlanDropped, State::Idle},
    Transition{State::Reading, Event::ReadToPlan, State::Planning},
    Transition{State::Applying, Event::Applied, State::Idle},
    Transition{State::Programming, Event::Applied, State::Idle},
    Transition{State::Applying, Event::BrokenOff, State::Idle},
    Transition{State::Programming, Event::BrokenOff, State::Idle},
    // Of a plan that somebody makes already the result is waited for.
    Transition{State::Idle, Event::StoodDown, State::Idle},
    Transition{State::Sweeping, Event::StoodDown, State::Idle},
    Transition{State::Deciding, Event::StoodDown, State::Idle},
    Transition{State::Recalling, Event::StoodDown, State::Idle},
    Transition{State::Planning, Event::StoodDown, State::Idle},
    Transition{State::Reading, Event::StoodDown, State::Idle},
    Transition{State::Applying, Event::StoodDown, State::Idle},
    Transition{State::Programming, Event::StoodDown, State::Idle},
    Transition{State::Looking, Event::StoodDown, State::Idle},
};

}  // namespace

std::span<const Transition> state_transitions() { return kTransitions; }

std::optional<State> transition(State from, Event event) {
  const auto at = std::ranges::find_if(
      kTransitions, [&](const Transition& t) { return t.from == from && t.event == event; });
  if (at == kTransitions.end()) return std::nullopt;
  return at->to;
}

}  // namespace sm::core
