// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Where MADs come from and go to: the one interface between ibkit and a port. The umad adapter is
// one implementation (a real HCA, ibfabric, ibsim-run); sim::HostPort over the in-process model is
// another; tests have their own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libdiag/base/instant.h"
#include "libdiag/base/result.h"
#include "libdiag/mad/sa_congestion.h"
#include "libdiag/wire/mad.h"
#include "libdiag/wire/smp_attributes.h"

namespace ib::mad {

/// Global route header of a packet, as umad carries it.
struct Grh {
  Gid gid{};  // the remote side's
  std::uint8_t gid_index{};
  std::uint8_t hop_limit{};
  std::uint8_t traffic_class{};
  std::uint32_t flow_label{};
  friend bool operator==(const Grh&, const Grh&) = default;
};

/// The other end of a packet. Sending: destination; received: source.
struct Address {
  Lid lid{kPermissiveLid};
  std::uint32_t qpn{0};  // 0 for SMPs, 1 for GMPs (a requester may use another)
  std::uint32_t q_key{0};
  Sl sl{};
  std::uint8_t path_bits{};  // low bits of our own LID
  std::uint16_t p_key_index{};
  std::optional<Grh> grh;
  friend bool operator==(const Address&, const Address&) = default;
};

/// QP1 of `lid`, default partition.
inline Address gsi_address(Lid lid, Sl sl = Sl{0}) {
  Address a;
  a.lid = lid;
  a.qpn = 1;
  a.q_key = wire::kQp1QKey;
  a.sl = sl;
  return a;
}
/// QP0 of `lid`; directed-route SMPs keep the permissive LID.
inline Address smi_address(Lid lid = kPermissiveLid) {
  Address a;
  a.lid = lid;
  return a;
}

/// One MAD with its address. `more` holds what follows the first 256 bytes when the kernel
/// reassembled an RMPP message (headers of the later segments removed), so the message is mad.bytes
/// + more.
struct Packet {
  Address address;
  wire::Mad mad;
  std::vector<std::byte> more;
};

using AgentId = std::int32_t;

/// What an agent wants: unsolicited MADs of the listed methods; none listed: a client that only
/// gets answers.
struct AgentSpec {
  wire::MgmtClass mgmt_class{};
  std::uint8_t class_version{1};
  std::optional<std::uint32_t> oui;   // vendor range 2 only
  std::vector<wire::Method> methods;  // requests (and traps) to be delivered
  enum class Rmpp { None, Kernel, User } rmpp{Rmpp::None};
};

/// A packet that arrived, or a sent request that the transport says got no answer in time
/// (`timed_out`, mad = header only).
struct Received {
  AgentId agent{-1};
  bool timed_out{false};
  Packet packet;
};

/// What is known of the local port without sending anything.
struct PortFacts {
  std::string device;  // "mlx5_0", "ibfabric0"
  std::uint8_t port_num{};
  Guid node_guid{};
  Guid port_guid{};
  std::uint64_t gid_prefix{kDefaultSubnetPrefix};
  Lid lid{};
  std::uint8_t lmc{};
  Lid sm_lid{};
  Sl sm_sl{};
  wire::PortState state{wire::PortState::Down};
  std::uint32_t capability_mask{};
  std::vector<PKey> p_keys;
};

/// A port that sends and receives MADs. Not thread-safe except where an implementation says so.
class Port {
 public:
  virtual ~Port() = default;

  /// Reads the port's facts again.
  virtual Result<PortFacts> facts() = 0;
  virtual Result<AgentId> register_agent(const AgentSpec& spec) = 0;

  /// Sends one MAD. For a request `reply_within` > 0 is how long the transport keeps the match for
  /// its answer; the transport itself never retries. Answers and one-way MADs pass 0. A response
  /// may be longer than one MAD only for an agent with Rmpp::Kernel.
  virtual Result<void> send(AgentId agent, const Packet& packet, Duration reply_within) = 0;

  /// Appends what has arrived to `out`, waiting up to `wait` when nothing has. Nothing in time is
  /// not an error.
  virtual Result<void> receive(std::vector<Received>& out, Duration wait) = 0;

  /// A descriptor that is readable when receive() would not wait, or -1 where there is none.
  virtual int readable_fd() const = 0;

  /// Unanswered MADs that the transport can carry without harm; 0: as many as anybody wants.
  virtual std::uint32_t window_max() const { return 0; }

  /// The limits of MAD congestion control as the port's driver has them now; nothing: the driver
  /// has none.
  virtual std::optional<SaLimits> sa_limits() const { return std::nullopt; }
};

}  // namespace ib::mad
