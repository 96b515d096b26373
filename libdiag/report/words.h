// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Words that several documents use for the same thing (doc/formats.md).
#pragma once

#include "libdiag/tables/verify.h"
#include "libdiag/wire/smp_attributes.h"

namespace ib::report {

/// The state of a port as a document has it; nullptr: unknown.
constexpr const char* link_state_word(wire::PortState state) {
  switch (state) {
    case wire::PortState::Down:
      return "down";
    case wire::PortState::Initialize:
      return "init";
    case wire::PortState::Armed:
      return "armed";
    case wire::PortState::Active:
      return "active";
    default:
      return nullptr;
  }
}

/// What a finding of a verdict is called.
constexpr const char* finding_word(tables::Finding::Kind kind) {
  switch (kind) {
    case tables::Finding::Kind::Unreachable:
      return "unreachable";
    case tables::Finding::Kind::Loop:
      return "loop";
    case tables::Finding::Kind::CreditLoop:
      return "credit loop";
    case tables::Finding::Kind::AsymmetricSl:
      return "asymmetric SL";
    case tables::Finding::Kind::Vl:
      return "VL";
    case tables::Finding::Kind::Multicast:
      return "multicast";
  }
  return "unknown";
}

/// What came of the check of multicast trees.
constexpr const char* multicast_word(tables::MulticastVerdict verdict) {
  switch (verdict) {
    case tables::MulticastVerdict::None:
      return "none";
    case tables::MulticastVerdict::NotProved:
      return "not proved";
    case tables::MulticastVerdict::Proved:
      return "proved";
    case tables::MulticastVerdict::Failed:
      return "failed";
  }
  return "unknown";
}

}  // namespace ib::report
