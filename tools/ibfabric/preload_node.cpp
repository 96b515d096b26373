// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// libibumad's functions that tell of devices and their ports, without opening any.
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <infiniband/umad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ibfabric/library_node.h"
#include "tools/ibfabric/library_talk.h"
#include "tools/ibfabric/protocol.h"

using namespace ibfabric;

namespace {

bool is_ours(const char* ca_name) {
  return ca_name == nullptr || strcmp(ca_name, kDeviceName) == 0;
}

/// Whether a port that was not named can be taken, by libibumad's order: active, then link up, then
/// not disabled. IBFABRIC_AT's own port comes first.
int choose_port(const Description& d) {
  if (d.node_type == 2) return 0;
  if (d.default_port > 0) return d.default_port;
  int up = -1, enabled = -1;
  for (int i = 0; i <= d.num_ports; ++i) {
    const PortDescription& p = d.ports[i];
    if (!p.present) continue;
    if (p.state == 4) return i;
    if (up < 0 && p.phys_state == 5) up = i;
    if (enabled < 0 && p.phys_state != 3) enabled = i;
  }
  return up >= 0 ? up : enabled;
}

bool fill_port(const Description& d, int port_num, umad_port_t* port) {
  const PortDescription& p = d.ports[port_num];
  memset(port, 0, sizeof *port);
  snprintf(port->ca_name, sizeof port->ca_name, "%s", kDeviceName);
  snprintf(port->link_layer, sizeof port->link_layer, "InfiniBand");
  port->portnum = port_num;
  port->base_lid = p.lid;
  port->lmc = p.lmc;
  port->sm_lid = p.sm_lid;
  port->sm_sl = p.sm_sl;
  port->state = p.state;
  port->phys_state = p.phys_state;
  port->rate = p.rate_gbps;
  port->capmask = htonl(p.cap_mask);
  port->gid_prefix = htobe64(p.gid_prefix);
  port->port_guid = htobe64(p.guid);
  port->pkeys = static_cast<uint16_t*>(calloc(p.p_key_count + 1U, sizeof(uint16_t)));
  if (port->pkeys == nullptr) return false;
  memcpy(port->pkeys, p.p_keys, p.p_key_count * sizeof(uint16_t));
  port->pkeys_size = p.p_key_count;
  return true;
}

}  // namespace

int ibfabric::describe(Description* d) {
  memset(d, 0, sizeof *d);
  if (!ask(request_of(Op::Describe), nullptr, 0, d, sizeof *d)) return -errno;
  if (!is_sound(*d)) return -EIO;
  return d->reply.result < 0 ? d->reply.result : 0;
}

int ibfabric::resolve(const char* ca_name, int* port_num, Description* d) {
  if (!is_ours(ca_name)) return -ENODEV;
  if (const int error = describe(d); error < 0) return error;
  if (*port_num <= 0) *port_num = choose_port(*d);
  if (*port_num < 0 || *port_num > d->num_ports || !d->ports[*port_num].present) return -ENODEV;
  return 0;
}

IBFABRIC_API int umad_get_cas_names(char cas[][UMAD_CA_NAME_LEN], int max) {
  Description d;
  if (describe(&d) < 0 || max < 1) return 0;
  memset(cas[0], 0, UMAD_CA_NAME_LEN);
  memcpy(cas[0], kDeviceName, sizeof kDeviceName);
  return 1;
}

IBFABRIC_API int umad_get_ca_portguids(const char* ca_name, __be64* portguids, int max) {
  if (!is_ours(ca_name)) return -ENODEV;
  Description d;
  if (describe(&d) < 0) return -1;
  if (portguids == nullptr) return 0;
  if (d.num_ports + 1 > max) return -ENOMEM;
  for (int i = 0; i <= d.num_ports; ++i) {
    portguids[i] = d.ports[i].present ? htobe64(d.ports[i].guid) : 0;
  }
  return d.num_ports + 1;
}

IBFABRIC_API int umad_get_ca(const char* ca_name, umad_ca_t* ca) {
  if (!is_ours(ca_name)) return -ENODEV;
  Description d;
  if (const int error = describe(&d); error < 0) return error;
  memset(ca, 0, sizeof *ca);
  snprintf(ca->ca_name, sizeof ca->ca_name, "%s", kDeviceName);
  ca->node_type = d.node_type;
  ca->numports = d.num_ports;
  snprintf(ca->fw_ver, sizeof ca->fw_ver, "0.0.0");
  snprintf(ca->ca_type, sizeof ca->ca_type, "ibfabric MT%u", d.device_id);
  snprintf(ca->hw_ver, sizeof ca->hw_ver, "%x", d.revision);
  ca->node_guid = htobe64(d.node_guid);
  ca->system_guid = htobe64(d.system_guid);
  for (int i = 0; i <= d.num_ports; ++i) {
    if (!d.ports[i].present) continue;
    ca->ports[i] = static_cast<umad_port_t*>(calloc(1, sizeof(umad_port_t)));
    if (ca->ports[i] == nullptr || !fill_port(d, i, ca->ports[i])) return -ENOMEM;
  }
  return 0;
}

IBFABRIC_API int umad_release_port(umad_port_t* port) {
  if (port == nullptr) return -ENODEV;
  free(port->pkeys);
  port->pkeys = nullptr;
  port->pkeys_size = 0;
  return 0;
}

IBFABRIC_API int umad_release_ca(umad_ca_t* ca) {
  if (ca == nullptr) return -ENODEV;
  for (auto& port : ca->ports) {
    if (port == nullptr) continue;
    umad_release_port(port);
    free(port);
    port = nullptr;
  }
  return 0;
}

IBFABRIC_API int umad_get_port(const char* ca_name, int portnum, umad_port_t* port) {
  Description d;
  if (const int error = resolve(ca_name, &portnum, &d); error < 0) return error;
  return fill_port(d, portnum, port) ? 0 : -EIO;
}

IBFABRIC_API int umad_get_issm_path(const char* ca_name, int portnum, char path[], int max) {
  Description d;
  if (const int error = resolve(ca_name, &portnum, &d); error < 0) return error;
  const int number = d.node_type == 2 ? portnum : portnum - 1;
  snprintf(path, static_cast<size_t>(max), "%s%d", kIssmPath, number);
  return 0;
}

IBFABRIC_API umad_device_node* umad_get_ca_device_list(void) {
  Description d;
  if (describe(&d) < 0) return nullptr;
  auto* node = static_cast<umad_device_node*>(calloc(1, sizeof(umad_device_node)));
  if (node == nullptr) return nullptr;
  node->ca_name = strdup(kDeviceName);
  return node;
}
IBFABRIC_API void umad_free_ca_device_list(umad_device_node* head) {
  while (head != nullptr) {
    umad_device_node* next = head->next;
    free(const_cast<char*>(head->ca_name));
    free(head);
    head = next;
  }
}
IBFABRIC_API int umad_sort_ca_device_list(umad_device_node** head, size_t) {
  // Insertion sort: lists are short, ours has one node.
  umad_device_node* sorted = nullptr;
  for (umad_device_node* node = *head; node != nullptr;) {
    umad_device_node* next = node->next;
    umad_device_node** at = &sorted;
    while (*at != nullptr && strcmp((*at)->ca_name, node->ca_name) <= 0) at = &(*at)->next;
    node->next = *at;
    *at = node;
    node = next;
  }
  *head = sorted;
  return 0;
}
