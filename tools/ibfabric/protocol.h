// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the preload library and the server say to each other on a unix SEQPACKET socket. Both ends
// are on one machine and of one build: plain structs, host byte order, `kProtocol` checked first.
//
// A connection starts with one Request (ctl: followed by its command as text) and one Reply. Then
//   OpenIssm   carries nothing; as long as it is open the port has IsSM set.
//   WriteLimit carries what the program writes, a text each time.
//   the others end. With the Reply to OpenPort come three descriptors (kPortFiles), and what they
//              stand for is an umad file until nobody has the bell down open any more.
// This header is included by the preload library and must not need the C++ library.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ibfabric {

// Goes up with every change to what is said here or lies in the rings (ring.h).
inline constexpr uint32_t kProtocol = 0x69626608;
inline constexpr size_t kFrameBytes = 32768;    // longest message on the socket
inline constexpr size_t kUmadHeaderBytes = 64;  // struct ib_user_mad
inline constexpr size_t kPortsMax = 10;         // as umad_ca_t has them
inline constexpr size_t kPKeysMax = 128;
inline constexpr char kDeviceName[] = "ibfabric0";
inline constexpr char kIssmPath[] = "/dev/infiniband/issm";  // and a number

// Environment of a program on a simulated port.
inline constexpr char kEnvSocket[] = "IBFABRIC_SOCKET";
inline constexpr char kEnvAt[] = "IBFABRIC_AT";

enum class Op : uint32_t {
  Describe,    // the node at `at` -> Description
  OpenPort,    // `port_num` of the node; -> port_id
  OpenIssm,    // `port_num` is the number in the path; flag kNonBlock
  Register,    // agent on port_id; -> result = agent's number
  Unregister,  // `agent` of port_id
  Threshold,   // `port_num` MADs of port_id may wait to be read; 0: any number
  ReadLimit,   // file `agent` (kLimitNames) of `port_num` -> its value, in port_id
  WriteLimit,  // the same; what follows on the connection is text to be written
  Send,        // struct ib_user_mad and a MAD follow the Request; -> result of the send
  Ctl,         // a command as JSON follows; -> text
};

inline constexpr uint32_t kNonBlock = 1;

// Files of a port's MAD congestion control, in sysfs: kLimitsPath, the port's number, /, a name.
inline constexpr char kLimitsPath[] = "/sys/class/infiniband/ibfabric0/mad_sa_cc/";
inline constexpr const char* kLimitNames[] = {"max_outstanding", "queue_size", "time_sa_mad",
                                              "drops"};
inline constexpr int32_t kDrops = 3;  // the last of them

struct Request {
  uint32_t protocol;
  Op op;
  uint32_t flags;
  int32_t port_num;
  uint64_t port_id;
  int32_t agent;
  uint32_t oui;
  uint64_t method_mask[2];
  uint8_t qpn, mgmt_class, class_version, rmpp_version;
  uint8_t user_rmpp, reserved[3];
  char at[256];  // NODE[:PORT]; empty: the first CA of the file
};

struct Reply {
  uint32_t protocol;
  int32_t result;  // >= 0, or -errno
  uint64_t port_id;
  uint64_t text_bytes;  // Ctl: that many bytes follow in frames of their own
};

// What comes with the Reply to OpenPort, in this order.
inline constexpr size_t kMemory = 0;  // in which MADs pass (ring.h)
inline constexpr size_t kBellDown =
    1;                                // a pipe, readable when there is a MAD: the program polls it
inline constexpr size_t kBellUp = 2;  // an eventfd, by which the library rings
inline constexpr size_t kPortFiles = 3;

struct PortDescription {
  uint8_t present;
  uint8_t lmc, sm_sl, state, phys_state, reserved[3];
  uint16_t lid, sm_lid;
  uint32_t rate_gbps;
  uint32_t cap_mask;
  uint64_t gid_prefix, guid;  // host order
  uint16_t p_key_count;
  uint16_t p_keys[kPKeysMax];
};

struct Description {
  Reply reply;
  uint32_t node_type;    // 1 CA, 2 switch, 3 router
  int32_t num_ports;     // highest port number shown
  int32_t default_port;  // of IBFABRIC_AT; 0: none was named
  uint32_t device_id, revision;
  uint64_t node_guid, system_guid;  // host order
  PortDescription ports[kPortsMax];
};

}  // namespace ibfabric
