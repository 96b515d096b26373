// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/mad/dispatcher.h"

#include <utility>

namespace ib::mad {
namespace {
template <class Enum>
constexpr std::uint8_t code(Enum value) {
  return static_cast<std::uint8_t>(value);
}
}  // namespace

std::optional<wire::Method> response_method(wire::Method request) {
  using wire::Method;
  switch (request) {
    case Method::Get:
    case Method::Set:
      return Method::GetResp;
    case Method::GetTable:
    case Method::GetTraceTable:
      return Method::GetTableResp;
    case Method::GetMulti:
      return Method::GetMultiResp;
    case Method::Delete:
      return Method::DeleteResp;
    case Method::Report:
      return Method::ReportResp;
    case Method::Trap:
      return Method::TrapRepress;
    default:
      return std::nullopt;
  }
}

Packet make_reply(const Packet& request, std::uint16_t status) {
  Packet reply{request.address, request.mad, {}};
  reply.mad.set<&wire::MadHeader::method>(
      response_method(request.mad.method()).value_or(wire::Method::GetResp));
  // A directed-route answer travels with the D bit set (IBA 14.2.2.2), which shares the field.
  constexpr std::uint16_t kDirection = 0x8000;
  reply.mad.set<&wire::MadHeader::status>(
      request.mad.is_directed() ? static_cast<std::uint16_t>(status | kDirection) : status);
  // IBA 13.5.4: the answer to a packet with a GRH has one, with the hop limit wide open.
  if (reply.address.grh) reply.address.grh->hop_limit = 0xFF;
  return reply;
}

void Dispatcher::declare(wire::MgmtClass mgmt_class, std::uint8_t class_version) {
  versions_[code(mgmt_class)] = class_version;
}

void Dispatcher::serve(wire::MgmtClass mgmt_class, wire::Method method, std::uint16_t attribute,
                       Handler handler) {
  versions_.try_emplace(code(mgmt_class), std::uint8_t{1});
  handlers_[{code(mgmt_class), code(method), attribute}] = std::move(handler);
}

std::optional<Packet> Dispatcher::refuse(const Packet& packet, std::uint16_t status) {
  const wire::Method method = packet.mad.method();
  // A trap or report that is not understood is not acknowledged, and what is not a request by its
  // method gets no answer: it may be anything.
  const bool is_request =
      response_method(method) && method != wire::Method::Trap && method != wire::Method::Report;
  if (!is_request) {
    ++counters_.dropped;
    return std::nullopt;
  }
  return make_reply(packet, status);
}

std::optional<Packet> Dispatcher::on_packet(Instant now, const Packet& packet) {
  const wire::Mad& mad = packet.mad;
  if (wire::is_response(mad.method())) {
    ++counters_.responses;
    return std::nullopt;
  }
  const auto version = versions_.find(code(mad.mgmt_class()));
  if (version == versions_.end()) {
    ++counters_.unknown_class;
    return std::nullopt;
  }
  if (mad.get<&wire::MadHeader::base_version>() != 1 ||
      mad.get<&wire::MadHeader::class_version>() != version->second) {
    ++counters_.bad_version;
    return refuse(packet, wire::status::kBadVersion);
  }
  const std::uint8_t c = code(mad.mgmt_class()), m = code(mad.method());
  const auto handler = handlers_.find({c, m, mad.attribute_id()});
  if (handler == handlers_.end()) {
    // Is the method known with any attribute?
    const auto same_method = handlers_.lower_bound({c, m, std::uint16_t{0}});
    const bool method_known = same_method != handlers_.end() &&
                              std::get<0>(same_method->first) == c &&
                              std::get<1>(same_method->first) == m;
    ++(method_known ? counters_.bad_attribute : counters_.bad_method);
    return refuse(packet, method_known ? wire::status::kBadAttribute : wire::status::kBadMethod);
  }
  ++counters_.handled;
  Packet reply = make_reply(packet);
  const bool wanted = handler->second(now, packet, reply);
  if (!wanted || !response_method(mad.method())) return std::nullopt;
  return reply;
}

}  // namespace ib::mad
