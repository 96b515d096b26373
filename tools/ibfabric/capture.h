// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibfabric ctl pcap`: every MAD of a Model in a capture file, written as it leaves its sender,
// lost ones included.
#pragma once

#include <optional>

#include "libdiag/mad/tap/pcap.h"
#include "libdiag/sim/model.h"
#include "tools/ibfabric/control.h"

namespace ibfabric {

class PcapCapture final : public Capture {
 public:
  explicit PcapCapture(ib::sim::Model& model) : model_(model) {}
  ib::Result<void> start(const std::string& path) override;
  ib::Result<void> stop() override;

 private:
  ib::sim::Model& model_;
  std::optional<ib::mad::PcapWriter> writer_;
};

}  // namespace ibfabric
