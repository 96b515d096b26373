// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Devices that answer a sweep of the whole fabric with anything: it comes to its end, and what it
// found hangs together.
#include "tests/fuzz/swept_answers.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMost = 20'000;  // a node that claims 254 ports is asked about each
  ib::fuzz::Input in(data, size);
  ib::fuzz::SweptDevices devices;
  ib::discover::SweepOptions options;
  options.descriptions = in.byte() % 4 != 0;
  options.hops_max = in.byte() % 4 == 0 ? 2 : 63;
  options.clears_changes_of = [all = in.byte() % 2 == 0](ib::Guid) { return all; };
  options.other_m_key = [tries = in.byte() % 8U](ib::Guid) mutable { return tries-- % 2 == 1; };
  ib::discover::Sweep sweep(options);
  devices.serve(sweep, &in, kMost);
  ib::fuzz::require_sound(sweep.observed());
  return 0;
}
