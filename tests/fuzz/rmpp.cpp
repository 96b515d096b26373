// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Arbitrary segments at a Receiver, arbitrary answers at a Sender: caps hold, accounts balance, the
// machines come to an end.
#include "libdiag/mad/rmpp.h"

#include <algorithm>

#include "tests/fuzz/fuzz.h"

namespace {

using namespace ib;
using namespace ib::mad;
using fuzz::require;
using wire::Mad;

Mad mad_from(fuzz::Input& in) {
  static constexpr wire::MgmtClass kClasses[] = {wire::MgmtClass::SubnAdm,
                                                 wire::MgmtClass::VendorIbtracer,
                                                 wire::MgmtClass::DevMgt, wire::MgmtClass::Perf};
  const std::uint8_t shape = in.byte();
  Mad mad = wire::make_mad(kClasses[shape & 3],
                           (shape & 4) != 0 ? wire::Method::GetTable : wire::Method::GetTableResp,
                           wire::attr::kNodeRecord);
  mad.set<&wire::MadHeader::tid>(Tid{static_cast<std::uint64_t>((shape >> 3) & 3)});
  wire::RmppHeader h;
  const std::uint8_t flags = in.byte();
  h.version = (flags & 0x80) != 0 ? in.byte() : std::uint8_t{1};
  h.type = (flags & 0x40) != 0 ? in.byte() : static_cast<std::uint8_t>(1 + (flags >> 4 & 3));
  h.active = (flags & 1) == 0;
  h.first = (flags & 2) != 0;
  h.last = (flags & 4) != 0;
  h.status = (flags & 8) != 0 ? in.byte() : std::uint8_t{0};
  h.data1 = (shape & 0x20) != 0 ? in.word() : in.byte();
  h.data2 = (shape & 0x40) != 0 ? in.word() : in.byte();
  if (wire::is_vendor_range2(mad.mgmt_class()) || mad.mgmt_class() != wire::MgmtClass::Perf)
    wire::encode(h, mad.bytes.data());
  return mad;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  const std::uint8_t how = in.byte();
  rmpp::ReceiverOptions options;
  options.window = 1 + (how & 7);
  options.messages_max = 4;
  options.messages_per_source = 2;
  options.lingering_max = 4;
  options.message_bytes_max = 4000;
  options.bytes_max = 6000;
  options.as_kernel = (how & 8) != 0;
  rmpp::Receiver receiver(options);

  rmpp::SenderOptions sending;
  sending.window = 1 + (how >> 4);
  sending.retries = 2;
  std::size_t left = 3000;
  Mad head = wire::make_mad(wire::MgmtClass::SubnAdm, wire::Method::GetTableResp, 0x11);
  rmpp::Sender sender(
      head,
      [&](std::span<std::byte> out) {
        const std::size_t n = std::min(out.size(), left);
        std::fill_n(out.begin(), n, std::byte{0x5A});
        left -= n;
        return n;
      },
      std::nullopt, sending);

  Instant now{1};
  std::size_t fed = 0, sent = 0, messages = 0;
  while (!in.empty()) {
    const std::uint8_t step = in.byte();
    if ((step & 0xF0) == 0xF0) {
      now = now + std::chrono::seconds(step & 0x0F);
      receiver.on_time(now);
      sender.on_time(now);
    }
    const Mad mad = mad_from(in);
    ++fed;
    if ((step & 1) != 0) {
      if (sender.owns(mad)) sender.on_mad(now, mad);
    } else {
      receiver.on_mad(now, gsi_address(Lid{static_cast<std::uint16_t>(1 + (step >> 1 & 3))}), mad);
    }
    std::size_t burst = 0;
    while (auto out = sender.next_send(now)) ++burst;
    require(burst <= sending.window + 2U, "a sender stays within its window");
    while (auto out = receiver.next_send()) ++sent;
    while (auto message = receiver.next_message()) {
      ++messages;
      require(rmpp::data_bytes(*message) <= options.message_bytes_max + wire::kMadBytes,
              "no message beyond the cap");
    }
    require(receiver.bytes() <= options.bytes_max + wire::kMadBytes, "the byte cap holds");
    require(receiver.incomplete() <= options.messages_max, "the message cap holds");
  }
  require(sent <= 2 * fed + options.messages_max, "no storm: at most two answers for a MAD");
  require(messages <= fed, "a message needs a MAD");
  now = now + std::chrono::hours(1);
  receiver.on_time(now);
  require(receiver.incomplete() == 0 && receiver.bytes() == 0, "time ends every message");
  require(receiver.next_deadline() == kNever, "and nothing lingers");
  for (int i = 0; i < 10; ++i) {
    while (sender.next_send(now)) {
    }
    now = now + std::chrono::hours(1);
    sender.on_time(now);
  }
  require(sender.state() != rmpp::Sender::State::Sending, "a sender ends when nobody answers");
  return 0;
}
