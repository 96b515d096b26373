// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Election: the state machine of a subnet manager among others (IBA 14.4.1) as one table, who ranks
// above whom, and what the others found by a sweep mean. Pure; Mastership goes by it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "libdiag/base/ids.h"
#include "libdiag/wire/smp_attributes.h"

namespace sm::core::election {

using ib::wire::SmState;

/// "MASTER", as messages and documents have it.
std::string_view state_name(SmState state);

struct Rank {
  std::uint8_t priority{};
  ib::Guid guid{};
};
/// The higher priority, then the lower GUID (IBA 14.4.1.2).
bool ranks_above(const Rank& a, const Rank& b);

enum class Event : std::uint8_t {
  // What a sweep found, once the others have said what they are
  NobodyAbove,  // none is master, and none ranks above us
  MasterFound,  // one is master, or is none yet and ranks above us
  HigherFound,  // we are master, and one that is STANDBY or master ranks above us
  MastersMeet,  // we are master, and so is one that ranks below us
  // Control packets: Set(SMInfo) by attribute modifier (IBA 14.2.5.13)
  Handover,
  Acknowledge,
  Disable,
  Standby,
  Discover,
  // What became of what we asked others
  MasterGone,  // whom we poll is silent, gone, or neither master nor above us
  HandoverTaken,
  HandoverRefused,  // or not answered
};
std::string_view event_name(Event event);

/// What follows a transition.
enum class Action : std::uint8_t {
  None,
  Sweep,     // a full sweep, and then the others are asked again
  Manage,    // the subnet is configured by what was found
  Poll,      // the other is polled, and nothing is set
  HandOver,  // the other is sent HANDOVER, and nothing is set meanwhile
  Wait,      // the other is to hand over to us: polled, and nothing is set meanwhile
};
std::string_view action_name(Action action);

struct Transition {
  SmState from;
  Event event;
  SmState to;
  Action action;
};
/// All there are, in the order of doc/ibsm.md. An event that has no row in a state is refused
/// there, where it is a control packet, and means nothing otherwise.
std::span<const Transition> transitions();
const Transition* transition(SmState from, Event event);

/// The control packet that a Set(SMInfo) with this attribute modifier is; none: no such.
std::optional<Event> control_packet(std::uint32_t attribute_modifier);
/// The attribute modifier of a control packet.
std::uint32_t attribute_modifier(Event control);
/// In which state the sender of a control packet has to say that it is (IBA 14.4.1).
SmState state_of_sender(Event control);

struct Finding {
  Event event{Event::NobodyAbove};
  ib::Guid who{};  // of the others; zero: nobody
};
/// What `others`, as they answered SMInfo, mean to one of rank `own` in `state`. Who is NOTACTIVE
/// takes no part.
Finding judge(SmState state, const Rank& own, std::span<const ib::wire::SmInfo> others);

}  // namespace sm::core::election
