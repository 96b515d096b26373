// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibtopo/fec.h"

#include <utility>

#include "libdiag/fabric/labels.h"
#include "libdiag/wire/port_attributes.h"
#include "libdiag/wire/registry.h"

namespace ib::tools::topo {
namespace {

using discover::Observed;
using fabric::NodeIndex;
using fabric::PortRef;

/// Of a switch port 0 tells for all of its ports.
bool has_port_info_extended(const Observed& observed, PortRef at) {
  if (observed.fabric.node(at.node).is_switch()) at.port = 0;
  const auto* port = observed.known_port(at);
  return port != nullptr &&
         (port->get<&wire::PortInfo::capability_mask>() & wire::port_cap::kCapabilityMask2) != 0 &&
         (port->get<&wire::PortInfo::capability_mask2>() & wire::port_cap2::kPortInfoExtended) != 0;
}

/// Each once, from its lesser end.
std::vector<std::pair<PortRef, PortRef>> cables_that_tell(const Observed& observed) {
  std::vector<std::pair<PortRef, PortRef>> cables;
  for (NodeIndex n = 0; n < observed.fabric.nodes().size(); ++n)
    for (unsigned p = 1; p <= observed.fabric.node(n).num_ports; ++p) {
      const PortRef self{n, static_cast<std::uint8_t>(p)};
      const PortRef peer = observed.fabric.port(self).peer;
      if (peer && std::pair(self.node, self.port) < std::pair(peer.node, peer.port) &&
          has_port_info_extended(observed, self) && has_port_info_extended(observed, peer))
        cables.emplace_back(self, peer);
    }
  return cables;
}

/// Nothing: it did not answer, or has no such modes.
std::optional<std::uint16_t> mode_of(const mad::Completion& completion) {
  if (!completion.reply || completion.reply->mad.status() != 0) return std::nullopt;
  const auto info = wire::body<wire::PortInfoExtended>(completion.reply->mad);
  if ((info.capability_mask & wire::kIsFecModeSupported) == 0) return std::nullopt;
  return info.fec_mode_active;
}

std::string mode_name(std::uint16_t mode) {
  const auto name = wire::value_name("FECModeActive", mode);
  return name.empty() ? "mode " + std::to_string(mode) : std::string(name);
}

}  // namespace

Result<FecFindings> check_fec(mad::Session& session, const Observed& observed,
                              std::uint64_t m_key) {
  const auto cables = cables_that_tell(observed);
  std::vector<mad::Request> requests;
  requests.reserve(2 * cables.size());
  for (const auto& [a, b] : cables)
    for (const PortRef at : {a, b})
      requests.push_back(mad::smp_request(requests.size(), observed.fabric.node(at.node).guid.value,
                                          observed.nodes[at.node].route, wire::Method::Get,
                                          wire::attr::kPortInfoExtended, at.port, m_key));
  auto answers = session.call_all(std::move(requests));
  if (!answers) return tl::unexpected<Error>(std::move(answers.error()));
  FecFindings found;
  for (std::size_t i = 0; i < cables.size(); ++i) {
    const auto& [a, b] = cables[i];
    const auto& at_a = (*answers)[2 * i];
    const auto& at_b = (*answers)[2 * i + 1];
    for (const auto& [at, answer] : {std::pair(a, &at_a), std::pair(b, &at_b)})
      if (!answer->reply) found.silent.push_back(fabric::port_label(observed.fabric, at));
    const auto mode_a = mode_of(at_a), mode_b = mode_of(at_b);
    if (!mode_a || !mode_b) continue;
    ++found.cables;
    if (*mode_a != *mode_b)
      found.lines.push_back("FEC differs: " + fabric::port_name(observed.fabric, a) + " has " +
                            mode_name(*mode_a) + ", " + fabric::port_name(observed.fabric, b) +
                            " has " + mode_name(*mode_b));
  }
  return found;
}

}  // namespace ib::tools::topo
