// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Words that several documents use for the same thing (doc/formats.md).
#pragma once

#include "libdiag/routes/verify.h"
#include "libdiag/wire/smp_attributes.h"

namespace ib::report {

constexpr const char* type_word(wire::NodeType type) {
  switch (type) {
    case wire::NodeType::ChannelAdapter:
      return "ca";
    case wire::NodeType::Switch:
      return "switch";
    case wire::NodeType::Router:
      return "router";
  }
  return "unknown";
}

constexpr const char* finding_word(routes::Finding::Kind kind) {
  switch (kind) {
    case routes::Finding::Kind::Unreachable:
      return "unreachable";
    case routes::Finding::Kind::Loop:
      return "loop";
    case routes::Finding::Kind::CreditLoop:
      return "credit loop";
    case routes::Finding::Kind::AsymmetricSl:
      return "asymmetric SL";
    case routes::Finding::Kind::Lane:
      return "lane";
    case routes::Finding::Kind::Multicast:
      return "multicast";
  }
  return "unknown";
}

constexpr const char* multicast_word(routes::MulticastVerdict verdict) {
  switch (verdict) {
    case routes::MulticastVerdict::None:
      return "none";
    case routes::MulticastVerdict::NotProved:
      return "not proved";
    case routes::MulticastVerdict::Proved:
      return "proved";
    case routes::MulticastVerdict::Failed:
      return "failed";
  }
  return "unknown";
}

}  // namespace ib::report
