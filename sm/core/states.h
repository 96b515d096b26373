// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the subnet manager does, as one table: which state follows which event (doc/ibsm.md). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace sm::core {

enum class State : std::uint8_t {
  Idle,
  Sweeping,     // a full sweep asks
  Deciding,     // other subnet managers are asked what they are, before anything is planned
  Recalling,    // what the one before us stored is asked for, before anything is planned by it
  Planning,     // a plan is made, on whatever thread
  Reading,      // of devices what must be known before all of the plan can be
  Applying,     // a plan is programmed
  Programming,  // memberships and alias GUIDs alone are
  Looking,      // a light sweep asks
};

enum class Event : std::uint8_t {
  SweepDue,
  RerouteDue,  // of the fabric as it is known
  MembersDue,
  LookDue,
  Inconsistent,  // the sweep cannot be used: the fabric changed meanwhile
  Swept,
  ToBeManaged,     // by us
  ToBeRecalled,    // likewise, when it is known what is stored
  Recalled,        // or it cannot be
  ReadToRecall,    // clients know their new subnet manager: what is stored is to be ours now
  RecalledToRead,  // it is
  LeftToOthers,    // who are master
  PlanToRead,
  Planned,
  PlanDropped,  // there is none, or it is out of date, or another one may be master
  Applied,      // or read
  BrokenOff,    // half way: another one may be master, or the fabric changed
  ReadToPlan,   // what was read changes the plan
  Looked,       // or left, since a full sweep is due
  StoodDown,    // another one is master
};

struct Transition {
  State from;
  Event event;
  State to;
};
std::span<const Transition> state_transitions();

/// nullopt: this cannot happen in that state.
std::optional<State> transition(State from, Event event);

}  // namespace sm::core
