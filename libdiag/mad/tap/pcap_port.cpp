// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <utility>

#include "libdiag/mad/tap/taps.h"

namespace ib::mad {

PcapPort::PcapPort(Port& behind, PcapWriter& writer, Clock clock)
    : TapPort(behind), writer_(writer), clock_(std::move(clock)), read_at_(kNever) {}

/// The LID of our own port, looked up no more than once a second: it changes at bring-up.
Lid PcapPort::own_lid(const Packet& packet) {
  if (packet.address.lid == kPermissiveLid) return kPermissiveLid;
  const Instant now = clock_();
  if (read_at_ == kNever || now - read_at_ > std::chrono::seconds(1)) {
    read_at_ = now;
    if (const auto facts = behind_.facts()) lid_ = facts->lid;
  }
  return Lid{static_cast<std::uint16_t>(lid_.value | packet.address.path_bits)};
}

Result<void> PcapPort::send(AgentId agent, const Packet& packet, Duration reply_within) {
  auto sent = behind_.send(agent, packet, reply_within);
  if (sent)
    writer_.write(clock_(), own_lid(packet), packet.address.lid,
                  wire::is_smp(packet.mad.mgmt_class()), packet);
  return sent;
}

Result<void> PcapPort::receive(std::vector<Received>& out, Duration wait) {
  const std::size_t first = out.size();
  auto got = behind_.receive(out, wait);
  for (std::size_t i = first; i < out.size(); ++i) {
    const Packet& packet = out[i].packet;
    if (out[i].timed_out) continue;  // never was on the wire in this direction
    writer_.write(clock_(), packet.address.lid, own_lid(packet),
                  wire::is_smp(packet.mad.mgmt_class()), packet);
  }
  return got;
}

}  // namespace ib::mad
