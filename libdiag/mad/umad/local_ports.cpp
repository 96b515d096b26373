// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/mad/umad/local_ports.h"

#include <endian.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace ib::mad {
namespace {

std::string no_port_text(const std::string& why) {
  return fmt::format(
      "no InfiniBand port on this host: {}; to try without hardware: ibfabric run TOPOLOGY -- "
      "COMMAND",
      why);
}

/// RoCE ports say Ethernet and have no QP0, others Unspecified; an old kernel and simulators say
/// nothing, which libibumad makes "IB".
bool is_infiniband(const umad_port_t& port) {
  const std::string_view layer = port.link_layer;
  return layer.empty() || layer == "IB" || layer == "InfiniBand";
}

struct LocalPorts {
  std::vector<PortFacts> ports;
  std::string nothing_because;
};

LocalPorts find_local_ports() {
  LocalPorts found;
  umad_init();
  char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN] = {};
  const int count = umad_get_cas_names(names, UMAD_MAX_DEVICES);
  if (count <= 0) {
    found.nothing_because = "no device in " SYS_INFINIBAND;
    return found;
  }
  for (int i = 0; i < count; ++i) {
    umad_ca_t ca;
    errno = 0;
    if (const int rc = umad_get_ca(names[i], &ca); rc < 0) {
      // Without any device the library makes one up, and fails to find it.
      if (errno_of(rc) == ENOENT || errno_of(rc) == ENODEV) continue;
      found.nothing_because =
          fmt::format("reading device {}: {}", names[i], std::strerror(errno_of(rc)));
      continue;
    }
    for (const umad_port_t* port : ca.ports) {
      if (port == nullptr) continue;
      if (is_infiniband(*port)) {
        found.ports.push_back(facts_of(*port, Guid{be64toh(ca.node_guid)}));
      } else if (found.nothing_because.empty()) {
        found.nothing_because =
            fmt::format("{} port {} is {}", names[i], port->portnum, port->link_layer);
      }
    }
    umad_release_ca(&ca);
  }
  if (found.nothing_because.empty()) found.nothing_because = "no device in " SYS_INFINIBAND;
  return found;
}

/// The library's own default port, so that every program on a host takes the same one (and under
/// ibfabric the port that was asked for with --at).
const PortFacts* default_port(const LocalPorts& found) {
  umad_port_t port;
  if (umad_get_port(nullptr, 0, &port) < 0) return nullptr;
  const auto it = std::ranges::find_if(found.ports, [&](const PortFacts& p) {
    return p.device == port.ca_name && p.port_num == port.portnum;
  });
  umad_release_port(&port);
  return it != found.ports.end() ? &*it : nullptr;
}

}  // namespace

int errno_of(int result) {
  if (errno != 0) return errno;
  return result < 0 ? -result : result;
}

PortFacts facts_of(const umad_port_t& port, Guid node_guid) {
  PortFacts facts;
  facts.device = port.ca_name;
  facts.port_num = static_cast<std::uint8_t>(port.portnum);
  facts.node_guid = node_guid;
  facts.port_guid = Guid{be64toh(port.port_guid)};
  facts.gid_prefix = be64toh(port.gid_prefix);
  facts.lid = Lid{static_cast<std::uint16_t>(port.base_lid)};
  facts.lmc = static_cast<std::uint8_t>(port.lmc);
  facts.sm_lid = Lid{static_cast<std::uint16_t>(port.sm_lid)};
  facts.sm_sl = Sl{static_cast<std::uint8_t>(port.sm_sl)};
  facts.state = static_cast<wire::PortState>(port.state);
  facts.capability_mask = be32toh(port.capmask);
  for (unsigned i = 0; i < port.pkeys_size; ++i) facts.p_keys.emplace_back(port.pkeys[i]);
  return facts;
}

Result<PortFacts> choose(const PortChoice& choice) {
  LocalPorts found = find_local_ports();
  if (found.ports.empty()) return fail(ErrorKind::Unavailable, no_port_text(found.nothing_because));
  if (choice.device.empty() && !choice.number && !choice.port_guid)
    if (const PortFacts* port = default_port(found)) return *port;
  const auto fits = [&](const PortFacts& p) {
    return (choice.device.empty() || choice.device == p.device) &&
           (!choice.number || *choice.number == p.port_num) &&
           (!choice.port_guid || *choice.port_guid == p.port_guid);
  };
  const auto rank = [](const PortFacts& p) {
    if (p.state == wire::PortState::Active) return 0;
    return p.state > wire::PortState::Down ? 1 : 2;
  };
  const PortFacts* best = nullptr;
  for (const PortFacts& p : found.ports)
    if (fits(p) && (best == nullptr || rank(p) < rank(*best))) best = &p;
  if (best != nullptr) return *best;

  std::string wanted = choice.number ? fmt::format(" {}", *choice.number) : "";
  if (!choice.device.empty()) wanted += " of " + choice.device;
  if (choice.port_guid) wanted += fmt::format(" with port GUID {}", to_string(*choice.port_guid));
  std::string there_is;
  for (const PortFacts& p : found.ports)
    there_is += fmt::format("{}{} port {} ({})", there_is.empty() ? "" : ", ", p.device, p.port_num,
                            to_string(p.port_guid));
  return fail(ErrorKind::Unavailable,
              fmt::format("no local port{}; there is {}", wanted, there_is));
}

Result<std::vector<PortFacts>> list_umad_ports() { return find_local_ports().ports; }

}  // namespace ib::mad
