// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <infiniband/ibnetdisc.h>
#include <infiniband/umad.h>

#include <cstring>
#include <memory>
#include <unordered_map>

#include "libdiag/base/text.h"
#include "tools/ibtopo/source.h"

namespace ib::tools::topo {
namespace {

struct DestroyFabric {
  void operator()(ibnd_fabric_t* fabric) const { ibnd_destroy_fabric(fabric); }
};

/// The library's attribute blocks are the bytes of the wire.
template <class T>
T decoded(const std::uint8_t* bytes) {
  return wire::decode<T>(reinterpret_cast<const std::byte*>(bytes));
}

constexpr unsigned kFdr10 = 1;  // bit of the vendor's LinkSpeedActive

fabric::Node node_of(const ibnd_node_t& from) {
  const auto info = decoded<wire::NodeInfo>(from.info);
  fabric::Node node;
  node.type = info.node_type;
  node.guid = Guid{from.guid};
  node.system_image_guid = info.system_image_guid;
  node.vendor_id = info.vendor_id;
  node.device_id = info.device_id;
  node.revision = info.revision;
  node.num_ports = static_cast<std::uint8_t>(from.numports);
  node.enhanced_port0 = from.smaenhsp0 != 0;
  node.description.assign(from.nodedesc, strnlen(from.nodedesc, IB_SMP_DATA_SIZE));
  return node;
}

void fill_port(fabric::Port& port, const ibnd_port_t& from, bool end_port) {
  const auto info = decoded<wire::PortInfo>(from.info);
  const bool fdr10 =
      (decoded<wire::MlnxExtendedPortInfo>(from.ext_info).link_speed_active & kFdr10) != 0;
  port.present = true;
  port.guid = Guid{from.guid};
  port.state = info.port_state;
  port.phys_state = info.port_physical_state;
  port.width = wire::active_width(info);
  port.speed = wire::active_speed(info, fdr10);
  port.vl_cap = info.vl_cap;
  port.mtu_cap = info.mtu_cap;
  port.external_port = static_cast<std::uint8_t>(from.ext_portnum);
  if (end_port) {
    port.lid = Lid{from.base_lid};
    port.lmc = from.lmc;
  }
}

/// The library says nothing of a node that did not answer, but the cable to it is up. Of hosts
/// only the port where the sweep began (`from_here`) is one that it looks behind.
void note_silence(Source& source, fabric::PortRef port, bool from_here, const Options& options) {
  const fabric::Node& node = source.fabric.node(port.node);
  if (!(node.is_switch() || from_here) || options.hops_max < 63 ||
      source.fabric.port(port).phys_state != wire::PhysState::LinkUp) {
    return;
  }
  source.complete = false;
  source.errors.push_back(to_string(node.guid) + " \"" + printable(node.description) + "\" port " +
                          std::to_string(port.port) +
                          ": the link is up, and nothing behind it answered");
}

}  // namespace

Result<Source> load_by_ibnetdisc(const Options& options) {
  if (umad_init() < 0) return fail(ErrorKind::Unavailable, "libibumad cannot be initialised");
  ibnd_config_t config{};
  config.max_smps = options.common.outstanding;
  config.max_hops = options.hops_max == 63 ? 0 : options.hops_max;
  config.timeout_ms = options.common.timeout_ms;
  config.flags = IBND_CONFIG_MLX_EPI;
  if (options.m_key && !parse_number(*options.m_key, ~std::uint64_t{0}, config.mkey)) {
    return fail(ErrorKind::Usage, "--m_key: expected a number, got '" + *options.m_key + "'");
  }
  std::string device = options.common.device;
  const std::unique_ptr<ibnd_fabric_t, DestroyFabric> found(
      ibnd_discover_fabric(device.empty() ? nullptr : device.data(),
                           static_cast<int>(options.common.port), nullptr, &config));
  if (!found) {
    return fail(ErrorKind::Unavailable,
                "libibnetdisc found no fabric: no InfiniBand port on this host, or it is not "
                "usable; to try without hardware: ibfabric run TOPOLOGY -- ibtopo");
  }

  Source source;
  std::unordered_map<const ibnd_node_t*, fabric::NodeIndex> index_of;
  for (const ibnd_node_t* n = found->nodes; n != nullptr; n = n->next) {
    const fabric::NodeIndex index = source.fabric.add_node(node_of(*n));
    index_of.emplace(n, index);
    for (int p = 0; p <= n->numports; ++p) {
      if (n->ports[p] == nullptr) continue;
      const bool end_port = n->type != IB_NODE_SWITCH || p == 0;
      fill_port(source.fabric.port(index, static_cast<unsigned>(p)), *n->ports[p], end_port);
    }
    if (n->type == IB_NODE_SWITCH) {
      fabric::Port& port0 = source.fabric.port(index, 0);
      port0.lid = Lid{n->smalid};
      port0.lmc = n->smalmc;
      if (port0.guid.value == 0) {
        port0.guid = decoded<wire::NodeInfo>(n->info).port_guid;
      }
    }
  }
  for (const ibnd_node_t* n = found->nodes; n != nullptr; n = n->next) {
    for (int p = 1; p <= n->numports; ++p) {
      const ibnd_port_t* port = n->ports[p];
      if (port == nullptr) continue;
      const fabric::PortRef self{index_of.at(n), static_cast<std::uint8_t>(p)};
      if (port->remoteport == nullptr) {
        note_silence(source, self, n == found->from_node && p == found->from_portnum, options);
        continue;
      }
      const ibnd_port_t* far = port->remoteport;
      // Set at each end, not connect(): the two ends may report different widths and speeds.
      source.fabric.port(self).peer = {index_of.at(far->node),
                                       static_cast<std::uint8_t>(far->portnum)};
    }
  }
  source.fabric.reindex();
  if (found->from_node != nullptr) {
    source.fabric.initiated_from_node = Guid{found->from_node->guid};
    const ibnd_port_t* from = found->from_node->ports[found->from_portnum];
    if (from != nullptr) source.fabric.initiated_from_port = Guid{from->guid};
  }
  source.title = "Fabric at " + (device.empty() ? std::string("the local port") : device);
  source.effort = std::to_string(found->total_mads_used) + " MADs";
  return source;
}

}  // namespace ib::tools::topo
