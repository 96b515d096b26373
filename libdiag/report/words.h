// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Words that several documents use for the same thing (doc/formats.md).
#pragma once

#include "libdiag/tables/verify.h"

namespace ib::report {

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
    case tables::Finding::Kind::Lane:
      return "lane";
    case tables::Finding::Kind::Multicast:
      return "multicast";
  }
  return "unknown";
}

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
