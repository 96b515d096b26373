// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Devices that answer the congestion control manager with anything: it comes to an end, with no
// more requests than a device can need, and says lines that can be printed.
#include <algorithm>

#include "libdiag/base/text.h"
#include "sm/managers/congestion/congestion_manager.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/sm/sa/snapshot_of.h"

namespace {

using ib::fuzz::require;

const std::shared_ptr<sm::Snapshot>& subnet() {
  static const auto made = [] {
    ib::fabric::FatTree tree;
    tree.radix = 4;
    return sm::sa::test::snapshot_of(*ib::fabric::generate(tree));
  }();
  return made;
}

ib::mad::Completion answer(const ib::mad::Request& request, ib::fuzz::Input& input) {
  const std::uint8_t kind = input.byte();
  if (kind % 16 == 15)
    return {request.cookie, ib::fail(ib::ErrorKind::TimedOut, "no answer"), {}, 8};
  if (kind % 16 == 14) return {request.cookie, ib::fail(ib::ErrorKind::Io, "no way"), {}, 0};
  ib::mad::Packet packet{request.address, request.mad, {}};
  packet.mad.set<&ib::wire::MadHeader::method>(ib::wire::Method::GetResp);
  if (kind % 16 == 13) packet.mad.set<&ib::wire::MadHeader::status>(input.byte());
  // What was asked comes back, as it is, or in part as the input has it.
  const std::size_t changed = kind / 16 * std::size_t{4};
  for (std::size_t i = 0; i < changed; ++i)
    packet.mad.bytes[64 + input.byte() % 192U] = static_cast<std::byte>(input.byte());
  return {request.cookie, std::move(packet), {}, 1};
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ib::fuzz::Input input(data, size);
  sm::policy::CongestionSettings settings;
  const std::uint8_t how = input.byte();
  settings.enable = (how & 1) == 0;
  settings.cc_key = (how & 2) != 0 ? 0x99 : 0;
  settings.error_window = std::chrono::seconds((how & 4) != 0 ? 5 : 0);
  sm::managers::CongestionManager manager(settings);
  ib::Instant now{1'000'000'000};
  for (int sweep = 0; sweep < 3; ++sweep) {
    manager.on_subnet_up(now, subnet());
    std::size_t left = subnet()->fabric().nodes().size() * 16;
    std::vector<ib::mad::Request> requests;
    while (!(requests = manager.take_requests(now, 4)).empty()) {
      for (const auto& request : requests) {
        require(left-- > 0, "a device is asked a few times a sweep");
        now = now + std::chrono::microseconds(10);
        manager.on_completion(now, answer(request, input));
      }
    }
    require(manager.idle(), "nothing is under way");
    for (const auto& line : manager.take_log())
      require(ib::printable(line.message) == line.message, "a line that can be printed");
  }
  return 0;
}
