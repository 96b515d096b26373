// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "agent/responder.h"

#include <algorithm>
#include <chrono>

#include "libdiag/wire/tracer_attributes.h"

namespace agent {

using ib::wire::Mad;
using ib::wire::MadHeader;
using ib::wire::Method;
using ib::wire::MgmtClass;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

bool TokenBucket::take(ib::Instant now) {
  if (started_ && now > last_) {
    const double seconds = std::chrono::duration<double>(now - last_).count();
    tokens_ = std::min(burst_, tokens_ + seconds * rate_);
  }
  started_ = true;
  last_ = std::max(last_, now);
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

Responder::Responder(const ResponderOptions& options)
    : options_(options), total_(options.total_rate, std::max(1.0, options.total_rate / 5)) {
  sources_.fill(TokenBucket(options.source_rate, std::max(1.0, options.source_rate / 5)));
}

bool Responder::admit(ib::Instant now, const ib::mad::Address& source) {
  // The source LID is written by the sender's HCA, so it can be trusted to tell requesters of this
  // subnet apart.
  const std::size_t slot = (source.lid.value * std::size_t{2654435761U} >> 16) % kSourceSlots;
  return sources_[slot].take(now) && total_.take(now);
}

namespace {

ib::wire::ClassPortInfo class_port_info(bool tracer, bool knows_ingress) {
  ib::wire::ClassPortInfo info;
  if (tracer) info.capability_mask = ib::wire::kTracerMirrorsGrh;
  if (knows_ingress) info.capability_mask |= ib::wire::kTracerKnowsIngress;
  info.resp_time_value = 8;  // about 1 ms
  return info;
}

}  // namespace

std::uint16_t Responder::serve_multicast_route(Ingress ingress, Mad& mad) {
  auto route = ib::wire::body<ib::wire::MulticastRoute>(mad);
  const ib::wire::PortSetBytes named = route.expected_ingress;
  // The port that was asked answers first, whatever was named; then the others that were.
  std::vector<Ingress> answers{ingress};
  route.actual_ingress = {};
  for (const Ingress& port : ports_) {
    if (port.node_guid != ingress.node_guid) continue;
    ib::wire::add_port(route.actual_ingress, port.port_num);
    if (port.port_num != ingress.port_num && ib::wire::has_port(named, port.port_num))
      answers.push_back(port);
  }
  ib::wire::add_port(route.actual_ingress, ingress.port_num);
  // What a switch does with a group's packets is in its tables, and an agent cannot see those. A
  // host passes nothing on.
  route.actual_egress = {};
  route.known = ib::wire::kKnowsIngress | ib::wire::kKnowsEgress;
  if (!ingress.knows_external_port) {
    route.known = 0;
    route.actual_ingress = {};
  }
  const std::uint32_t chosen = mad.attribute_modifier();
  const bool exists = chosen < answers.size();
  route.answers = static_cast<std::uint8_t>(answers.size());
  route.answer = exists ? static_cast<std::uint8_t>(chosen) : std::uint8_t{0};
  const Ingress& port = answers[route.answer];
  route.port = ib::PortNum{port.port_num};
  route.port_guid = port.port_guid;
  const bool ingress_as_expected =
      named == ib::wire::PortSetBytes{} || ib::wire::has_port(named, port.port_num);
  const bool egress_as_expected = route.expected_egress == ib::wire::PortSetBytes{};
  ib::wire::set_body(mad, route);
  if (!exists) return status::kBadValue;
  if (route.known == 0 || (ingress_as_expected && egress_as_expected)) return status::kOk;
  ++counters_.mismatches;
  return status::kBadValue;
}

std::uint16_t Responder::serve(Ingress ingress, Mad& mad) {
  if (mad.get<&MadHeader::base_version>() != 1 || mad.get<&MadHeader::class_version>() != 1)
    return status::kBadVersion;
  if (mad.method() != Method::Get) return status::kBadMethod;
  const bool tracer = mad.mgmt_class() == MgmtClass::VendorIbtracer;
  const bool knows_ingress = tracer && ingress.knows_external_port;

  if (mad.attribute_id() == attr::kClassPortInfo) {
    ib::wire::set_body(mad, class_port_info(tracer, knows_ingress));
    return status::kOk;
  }
  if (tracer && mad.attribute_id() == attr::kSourceRoute) {
    auto route = ib::wire::body<ib::wire::SourceRoute>(mad);
    const std::uint8_t actual = ingress.knows_external_port ? ingress.port_num : std::uint8_t{0};
    route.actual_port = ib::PortNum{actual};
    const bool hop_legal = route.hop >= 1 && route.hop <= 63;
    const std::uint8_t expected = hop_legal ? route.expected_port[route.hop] : std::uint8_t{0};
    ib::wire::set_body(mad, route);
    if (!hop_legal) return status::kBadValue;
    // Expecting port 0 asks "which port was it?"; and who cannot know its ingress cannot
    // contradict.
    if (expected == 0 || !ingress.knows_external_port || expected == actual) return status::kOk;
    ++counters_.mismatches;
    return status::kBadValue;
  }
  if (tracer && mad.attribute_id() == attr::kMulticastRoute)
    return serve_multicast_route(ingress, mad);
  if (!tracer && mad.attribute_id() == attr::kPing) {
    ib::wire::Ping ping;
    const std::size_t n = std::min(options_.host.size(), ping.host.size() - 1);
    std::copy_n(options_.host.begin(), n, ping.host.begin());
    ib::wire::set_body(mad, ping);
    return status::kOk;
  }
  return status::kBadAttribute;
}

std::optional<ib::mad::Packet> Responder::answer(ib::Instant now, Ingress ingress,
                                                 const ib::mad::Packet& request) {
  const Mad& mad = request.mad;
  const bool ours =
      mad.mgmt_class() == MgmtClass::VendorIbtracer || mad.mgmt_class() == MgmtClass::VendorPing;
  const bool wants_answer = mad.method() == Method::Get || mad.method() == Method::Set;
  // An answer to a LID that is no one port's would reach more than the asker.
  if (!ours || !wants_answer || !request.address.lid.is_unicast() ||
      mad.get<&ib::wire::VendorHeader::oui>() != ib::wire::kOpenIbOui) {
    ++counters_.ignored;
    return std::nullopt;
  }
  if (!admit(now, request.address)) {
    ++counters_.limited;
    return std::nullopt;
  }
  // The whole address is mirrored: LID, QP, SL, path bits, P_Key index, and the GRH where the
  // request had one; its hop limit is wide open (IBA 13.5.4), since the request's is what was left.
  ib::mad::Packet reply;
  reply.address = request.address;
  if (reply.address.grh) reply.address.grh->hop_limit = 0xFF;
  reply.address.q_key = ib::wire::kQp1QKey;
  reply.mad = mad;
  const std::uint16_t code = serve(ingress, reply.mad);
  reply.mad.set<&MadHeader::method>(Method::GetResp);
  reply.mad.set<&MadHeader::status>(code);
  // A class without RMPP: whatever the request carried there, the answer carries none.
  ib::wire::RmppHeader no_rmpp;
  no_rmpp.response_time = 0;
  ib::wire::encode(no_rmpp, reply.mad.bytes.data());
  ++(code == status::kOk || code == status::kBadValue ? counters_.answered : counters_.refused);
  return reply;
}

}  // namespace agent
