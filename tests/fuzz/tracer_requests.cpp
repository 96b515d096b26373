// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any MADs to ibtracerd: it answers the asker alone, no more often than its limits allow, and with
// nothing but Get's answer to what it was asked.
#include <algorithm>

#include "agent/responder.h"
#include "tests/fuzz/fuzz.h"

namespace {

using ib::fuzz::require;
namespace wire = ib::wire;

ib::mad::Packet request_of(ib::fuzz::Input& in) {
  ib::mad::Packet packet;
  packet.address = ib::mad::gsi_address(ib::Lid{static_cast<std::uint16_t>(in.byte() * 257U)});
  const std::uint8_t how = in.byte();
  if ((how & 1) != 0) packet.address.grh.emplace();
  packet.mad =
      wire::make_mad((how & 2) != 0 ? wire::MgmtClass::VendorPing : wire::MgmtClass::VendorIbtracer,
                     wire::Method::Get, in.byte() % 20, in.byte());
  packet.mad.set<&wire::VendorHeader::oui>(wire::kOpenIbOui);
  for (unsigned changed = how / 4; changed > 0; --changed)
    packet.mad.bytes[in.byte()] = static_cast<std::byte>(in.byte());
  return packet;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ib::fuzz::Input in(data, size);
  constexpr double kRate = 100;
  agent::Responder responder({"fuzzed.example", kRate, kRate});
  const agent::Ingress first{1, (in.byte() & 1) != 0, ib::Guid{1}, ib::Guid{2}};
  responder.set_ports(
      {first, {2, true, ib::Guid{1}, ib::Guid{3}}, {1, true, ib::Guid{4}, ib::Guid{5}}});
  ib::Instant now{0};
  double answers = 0;
  while (!in.empty()) {
    const auto request = request_of(in);
    now = now + std::chrono::milliseconds(in.byte() % 16);
    const auto reply = responder.answer(now, first, request);
    if (!reply) continue;
    ++answers;
    require(wire::is_response(reply->mad.method()), "an answer is no question");
    require(!wire::is_response(request.mad.method()), "an answer is not answered");
    require(request.address.lid.is_unicast(), "nobody is answered whom no LID tells apart");
    require(reply->address.lid == request.address.lid && reply->address.qpn == request.address.qpn,
            "the asker is answered");
    require(reply->mad.tid() == request.mad.tid() &&
                reply->mad.mgmt_class() == request.mad.mgmt_class() &&
                reply->mad.attribute_id() == request.mad.attribute_id() &&
                reply->mad.attribute_modifier() == request.mad.attribute_modifier(),
            "what was asked is answered");
  }
  const double seconds = std::chrono::duration<double>(now - ib::Instant{0}).count();
  require(answers <= kRate / 5 + seconds * kRate + 1, "it answers no more often than it may");
  return 0;
}
