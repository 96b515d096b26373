// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/query/smp_client.h"

#include <fmt/format.h>

namespace ib::query {

Result<mad::Packet> SmpClient::get(const SmpTarget& target, std::uint16_t attribute,
                                   std::uint32_t modifier) {
  mad::Request request;
  std::string where;
  if (const auto* route = std::get_if<mad::DirectedRoute>(&target)) {
    std::uint64_t key = 0;
    for (const auto hop : route->hops) key = key * 257 + hop + 1U;
    request = mad::smp_request(0, key, *route, wire::Method::Get, attribute, modifier, m_key_);
    where = "directed route " + mad::to_string(*route);
  } else {
    const auto lid = std::get<Lid>(target);
    request = mad::smp_request(0, lid.value, lid, wire::Method::Get, attribute, modifier, m_key_);
    where = fmt::format("LID {}", lid.value);
  }
  auto answer = session_.call(std::move(request));
  if (!answer) return answer;
  if (const auto status = answer->mad.status(); status != 0)
    return tl::unexpected(Error{ErrorKind::Refused,
                                fmt::format("SubnGet(0x{:04x}, modifier 0x{:x}) to {}: status "
                                            "0x{:04x}",
                                            attribute, modifier, where, status),
                                status});
  return answer;
}

}  // namespace ib::query
