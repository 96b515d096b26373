// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibfabric/capture.h"

namespace ibfabric {

using ib::Result;

Result<void> PcapCapture::start(const std::string& path) {
  if (auto stopped = stop(); !stopped) return stopped;
  auto writer = ib::mad::PcapWriter::open(path, ib::mad::wall_clock_offset());
  if (!writer) return tl::unexpected(writer.error());
  writer_.emplace(std::move(*writer));
  model_.set_tap(
      [](void* self, ib::Instant now, ib::Lid slid, ib::Lid dlid, bool smi,
         const ib::mad::Packet& packet) {
        static_cast<PcapCapture*>(self)->writer_->write(now, slid, dlid, smi, packet);
      },
      this);
  return {};
}

Result<void> PcapCapture::stop() {
  model_.set_tap(nullptr, nullptr);
  if (!writer_) return {};
  auto flushed = writer_->flush();
  writer_.reset();
  return flushed;
}

}  // namespace ibfabric
