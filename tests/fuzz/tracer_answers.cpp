// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any bytes as an agent's answer to MulticastRoute, and as the question: what the client reads of
// an answer is what was asked, and it understands whatever our own agent says.
#include <algorithm>

#include "agent/responder.h"
#include "tests/fuzz/fuzz.h"
#include "tools/ibtracer/multicast_answer.h"

namespace {

using ib::fuzz::require;
namespace wire = ib::wire;

void check_answer(const wire::Mad& mad, const wire::MulticastRoute& asked, std::uint8_t chosen) {
  const auto read = ibtracer::read_multicast_answer(mad, asked, chosen);
  if (!read) return;
  require(read->answers > chosen, "an answer is one of those that there are");
  require((read->known & wire::kKnowsIngress) != 0 || read->ingress.none(),
          "nothing unknown is told");
  require((read->known & wire::kKnowsEgress) != 0 || read->egress.none(),
          "nothing unknown is told");
  require(!read->contradicts || read->known != 0, "who knows nothing contradicts nothing");
  require(ibtracer::ports_of(ibtracer::bytes_of(read->ingress)) == read->ingress,
          "a set of ports stays what it is");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ib::fuzz::Input in(data, size);
  const std::uint8_t chosen = in.byte();
  const bool is_switch = (in.byte() & 1) != 0;
  const auto bytes = in.rest();
  wire::Mad mad = wire::make_mad(wire::MgmtClass::VendorIbtracer, wire::Method::Get,
                                 wire::attr::kMulticastRoute, chosen);
  const std::size_t taken = std::min(bytes.size(), wire::LayoutOf<wire::MulticastRoute>::kBytes);
  std::copy_n(bytes.begin(), taken, mad.data());
  const auto asked = wire::body<wire::MulticastRoute>(mad);

  // As an answer to the question that it repeats, and with each of the statuses it may have.
  for (const std::uint16_t status :
       {wire::status::kOk, wire::status::kBadValue, wire::status::kBadAttribute}) {
    mad.set<&wire::MadHeader::status>(status);
    check_answer(mad, asked, chosen);
  }
  mad.set<&wire::MadHeader::status>(wire::status::kOk);

  // As a question to our own agent, which serves two ports of its node.
  agent::Responder responder(agent::ResponderOptions{"fuzzed.example"});
  const agent::Ingress first{static_cast<std::uint8_t>(is_switch ? 0 : 1), !is_switch, ib::Guid{1},
                             ib::Guid{2}};
  responder.set_ports({first, {2, true, ib::Guid{1}, ib::Guid{3}}});
  ib::mad::Packet question;
  question.address = ib::mad::gsi_address(ib::Lid{7});
  question.mad = mad;
  const auto reply = responder.answer(ib::Instant{0}, first, question);
  require(reply.has_value(), "a question is answered");
  const auto read = ibtracer::read_multicast_answer(reply->mad, asked, chosen);
  const auto said = wire::body<wire::MulticastRoute>(reply->mad);
  require(read.has_value() == (chosen < said.answers), "our agent's answers can be read");
  require(!read || read->port_guid == (chosen == 0 ? ib::Guid{2} : ib::Guid{3}),
          "each answer is of its own port");
  check_answer(reply->mad, asked, chosen);
  return 0;
}
