// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibtracer/multicast_answer.h"

#include <fmt/format.h>

#include "tools/ibtracer/trace.h"

namespace ibtracer {

using ib::query::PortSet;
namespace wire = ib::wire;

wire::PortSetBytes bytes_of(const PortSet& ports) {
  wire::PortSetBytes bytes{};
  for (std::size_t port = 0; port < ports.size(); ++port)
    if (ports.test(port)) wire::add_port(bytes, static_cast<std::uint8_t>(port));
  return bytes;
}

PortSet ports_of(const wire::PortSetBytes& bytes) {
  PortSet ports;
  for (std::size_t port = 0; port < ports.size(); ++port)
    ports.set(port, wire::has_port(bytes, static_cast<std::uint8_t>(port)));
  return ports;
}

ib::mad::Request multicast_route_request(ib::mad::Cookie cookie, ib::Guid target, ib::Lid lid,
                                         ib::Sl sl, const wire::MulticastRoute& route,
                                         std::uint8_t chosen) {
  ib::mad::Request r = class_port_info_request(cookie, target, lid, sl);
  r.mad = wire::make_mad(wire::MgmtClass::VendorIbtracer, wire::Method::Get,
                         wire::attr::kMulticastRoute, chosen);
  wire::set_body(r.mad, route);
  return r;
}

ib::Result<MulticastAnswer> read_multicast_answer(const wire::Mad& mad,
                                                  const wire::MulticastRoute& asked,
                                                  std::uint8_t chosen) {
  const std::uint16_t status = mad.status();
  if (status != wire::status::kOk && status != wire::status::kBadValue)
    return tl::unexpected(
        ib::Error{ib::ErrorKind::Refused, fmt::format("status 0x{:04x}", status), status});
  const auto malformed = [](std::string why) {
    return ib::fail(ib::ErrorKind::Malformed, std::move(why));
  };
  const auto body = wire::body<wire::MulticastRoute>(mad);
  if (body.mgid != asked.mgid || body.mlid != asked.mlid ||
      body.expected_ingress != asked.expected_ingress ||
      body.expected_egress != asked.expected_egress)
    return malformed("it repeats another question");
  if (body.answers <= chosen || body.answer != chosen)
    return malformed(fmt::format("answer {} of {}, where answer {} was asked for", body.answer,
                                 body.answers, chosen));
  MulticastAnswer answer;
  answer.contradicts = status == wire::status::kBadValue;
  answer.known = body.known;
  answer.answers = body.answers;
  answer.port = body.port.value;
  answer.port_guid = body.port_guid;
  if ((body.known & wire::kKnowsIngress) != 0) answer.ingress = ports_of(body.actual_ingress);
  if ((body.known & wire::kKnowsEgress) != 0) answer.egress = ports_of(body.actual_egress);
  // Status 7 with nothing that differs means that the agent found the question malformed.
  const PortSet expected = ports_of(asked.expected_ingress);
  const bool ingress_differs =
      (body.known & wire::kKnowsIngress) != 0 && expected.any() && !expected.test(answer.port);
  const bool egress_differs =
      (body.known & wire::kKnowsEgress) != 0 && body.actual_egress != asked.expected_egress;
  if (answer.contradicts != (ingress_differs || egress_differs))
    return malformed(fmt::format("status 0x{:04x} with port {}", status, answer.port));
  return answer;
}

}  // namespace ibtracer
