// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/mad/request.h"

#include <algorithm>

namespace ib::mad {

std::string to_string(const DirectedRoute& route) {
  std::string text = "0";
  for (const std::uint8_t hop : route.hops) {
    text += ',';
    text += std::to_string(hop);
  }
  return text;
}

Request smp_request(Cookie cookie, std::uint64_t target_key, const DirectedRoute& route,
                    wire::Method method, std::uint16_t attribute, std::uint32_t modifier,
                    std::uint64_t m_key) {
  Request request;
  request.cookie = cookie;
  request.target_key = target_key;
  request.address = smi_address();
  request.mad = wire::make_mad(wire::MgmtClass::SubnDirected, method, attribute, modifier);
  request.mad.set<&wire::SmpHeader::m_key>(m_key);
  // Entry 0 of the path is unused; hop i leaves by entry i (IBA 14.2.2.1).
  const std::size_t hops = std::min<std::size_t>(route.hops.size(), 63);
  std::array<std::uint8_t, 64> path{};
  std::copy_n(route.hops.begin(), hops, path.begin() + 1);
  request.mad.set<&wire::SmpHeader::initial_path>(path);
  request.mad.set<&wire::SmpHeader::hop_count>(static_cast<std::uint8_t>(hops));
  return request;
}

Request smp_request(Cookie cookie, std::uint64_t target_key, Lid lid, wire::Method method,
                    std::uint16_t attribute, std::uint32_t modifier, std::uint64_t m_key) {
  Request request;
  request.cookie = cookie;
  request.target_key = target_key;
  request.address = smi_address(lid);
  request.mad = wire::make_mad(wire::MgmtClass::SubnLid, method, attribute, modifier);
  request.mad.set<&wire::SmpHeader::m_key>(m_key);
  return request;
}

}  // namespace ib::mad
