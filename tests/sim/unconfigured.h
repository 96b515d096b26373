// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Fabrics as they come out of the box: no port has a LID.
#pragma once

#include "libdiag/fabric/generate.h"

namespace sm::test {

/// A fabric of that kind; of its links so many per cent, taken at random, are missing.
template <class Kind>
ib::fabric::Fabric unconfigured(const Kind& kind, double missing_links_percent = 0) {
  ib::fabric::GenerateCommon common;
  common.lids = false;
  common.missing_links_percent = missing_links_percent;
  return ib::fabric::generate(kind, common).value();
}

}  // namespace sm::test
