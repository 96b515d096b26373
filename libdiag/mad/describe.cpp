// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/mad/describe.h"

#include <fmt/format.h>

#include <algorithm>

#include "libdiag/wire/registry.h"

namespace ib::mad {

using wire::Mad;
using wire::Method;
using wire::MgmtClass;

std::string class_name(MgmtClass c) {
  const std::string_view known = wire::class_name(c);
  return known.empty() ? fmt::format("0x{:02x}", static_cast<unsigned>(c)) : std::string(known);
}

std::string method_name(Method m) {
  const std::string_view known = wire::method_name(m);
  return known.empty() ? fmt::format("0x{:02x}", static_cast<unsigned>(m)) : std::string(known);
}

std::string attribute_name(MgmtClass c, std::uint16_t attribute) {
  const std::string_view known = wire::attribute_name(c, attribute);
  return known.empty() ? fmt::format("0x{:04x}", attribute) : std::string(known);
}

std::string target_name(const Address& address, const Mad& mad) {
  if (!mad.is_directed()) {
    const std::string lid = fmt::format("LID {}", address.lid.value);
    return address.grh ? lid + " GID " + to_string(address.grh->gid) : lid;
  }
  // The path is from the wire: no more of it than the array holds.
  const auto hops = std::min<std::size_t>(mad.get<&wire::SmpHeader::hop_count>(), 63);
  const auto path = mad.get<&wire::SmpHeader::initial_path>();
  std::string text = "DR path 0";
  for (std::size_t i = 1; i <= hops; ++i) text += fmt::format(",{}", path[i]);
  return text;
}

std::string describe(const Mad& mad) {
  const MgmtClass c = mad.mgmt_class();
  return fmt::format("{}{}{}({})", wire::is_smp(c) ? "" : mad::class_name(c),
                     wire::is_smp(c) ? "" : " ", mad::method_name(mad.method()),
                     mad::attribute_name(c, mad.attribute_id()));
}

std::string describe(const Address& address, const Mad& mad) {
  return describe(mad) + " to " + target_name(address, mad);
}

}  // namespace ib::mad
