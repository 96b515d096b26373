// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/query/pma_client.h"

#include <fmt/format.h>

namespace ib::query {
namespace {

template <class Counters>
Result<Counters> read(const mad::Packet& answer, std::uint8_t port) {
  if (const auto status = answer.mad.status(); status != 0)
    return tl::unexpected(
        Error{ErrorKind::Refused,
              fmt::format("PMA Get({}) of LID {} port {}: status 0x{:04x}",
                          wire::LayoutOf<Counters>::name(), answer.address.lid.value, port, status),
              status});
  const auto counters = wire::body<Counters>(answer.mad);
  if (counters.port_select.value != port)
    return fail(ErrorKind::Malformed,
                fmt::format("PMA Get({}) of LID {}: asked for port {}, got port {}",
                            wire::LayoutOf<Counters>::name(), answer.address.lid.value, port,
                            counters.port_select.value));
  return counters;
}

}  // namespace

mad::Request pma_request(mad::Cookie cookie, Lid lid, std::uint16_t attribute, std::uint8_t port,
                         Sl sl) {
  mad::Request request;
  request.cookie = cookie;
  request.target_key = 0x504dULL << 48 | lid.value;  // apart from the SMA of the same node
  request.address = mad::gsi_address(lid, sl);
  request.mad = wire::make_mad(wire::MgmtClass::Perf, wire::Method::Get, attribute);
  // PortSelect lies at the same place in every attribute that has one.
  if (attribute != wire::attr::kClassPortInfo) {
    wire::PortCounters wanted;
    wanted.port_select = PortNum{port};
    wire::set_body(request.mad, wanted);
  }
  return request;
}

Result<wire::PortCounters> read_port_counters(const mad::Packet& answer, std::uint8_t port) {
  return read<wire::PortCounters>(answer, port);
}
Result<wire::PortCountersExtended> read_port_counters_extended(const mad::Packet& answer,
                                                               std::uint8_t port) {
  return read<wire::PortCountersExtended>(answer, port);
}

}  // namespace ib::query
