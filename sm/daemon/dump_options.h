// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Which dump files the operator wants.
#pragma once

#include <string>

#include "libdiag/route/options.h"

namespace sm::daemon {

struct DumpOptions {
  std::string directory;      // empty: no dumps
  bool routing{false};        // all files; else opensm-subnet.lst and the order of ftree's CAs
  bool sl_to_vl{false};       // opensm-sl2vl.dump though the routes use one VL
  ib::route::Options engine;  // by which roots and compute nodes are found again
};

}  // namespace sm::daemon
