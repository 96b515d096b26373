// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibfabric ctl pcap`: every MAD of a Model in a pcap file (LINKTYPE_INFINIBAND), written as it
// leaves its sender, lost ones included.
#pragma once

#include <fstream>

#include "libdiag/sim/model.h"
#include "tools/ibfabric/control.h"

namespace ibfabric {

class PcapCapture final : public Capture {
 public:
  explicit PcapCapture(ib::sim::Model& model) : model_(model) {}
  ib::Result<void> start(const std::string& path) override;
  void stop() override;

 private:
  void write(ib::Instant now, ib::Lid slid, ib::Lid dlid, bool smi, const ib::mad::Packet& packet);

  ib::sim::Model& model_;
  std::ofstream file_;
  std::int64_t wall_offset_ns_{0};  // wall clock less the model's
};

}  // namespace ibfabric
