// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Model: a whole InfiniBand fabric in memory: every node's SMA, PMA and congestion control agent,
// port state machines, links, forwarding by the programmed tables, traps. Deterministic: time and
// randomness are handed in; no thread, no clock, no socket. It answers from programmed state, never
// from the file it was loaded from.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libdiag/base/instant.h"
#include "libdiag/base/result.h"
#include "libdiag/fabric/fabric.h"
#include "libdiag/mad/transport.h"
#include "libdiag/sim/congestion.h"
#include "libdiag/sim/flow.h"
#include "libdiag/wire/adaptive_attributes.h"

namespace ib::sim {

using fabric::NodeIndex;
using fabric::PortRef;

/// What can go wrong, and how slow devices are. Defaults are documented in doc/ibfabric.md.
struct Faults {
  double loss_percent{
      0};  // each MAD at most once per direction between sender and receiver, whatever its hops
  double duplicate_percent{0};
  Duration delay{0};   // added to every MAD
  Duration jitter{0};  // up to so much is added to each, so that one overtakes another
  Duration sma_service{std::chrono::microseconds(2)};  // an SMA serves one MAD after the other
  std::uint32_t sma_queue{64};       // waiting MADs per SMA; more are dropped in silence
  std::uint32_t vl15_buffer{64};     // MADs in flight per link direction
  std::uint32_t receive_queue{512};  // receive slots of a host's QP0 and of its QP1
  bool receive_thresholds{true};     // hosts loaded ib_umad with enable_rx_threshold=1
  bool sa_congestion{false};         // hosts have a driver with MAD congestion control
};

struct ModelOptions {
  std::uint64_t seed{1};
  bool keep_lids{false};  // start with the file's LIDs instead of none
  Lid no_lid_of_cas{0};   // what a CA says that has none: 0, or 0xFFFF as ConnectX-4 and later
  Duration hop_latency{std::chrono::nanoseconds(200)};
  /// SwitchInfo:OptimizedSLtoVLMappingProgramming of switches, a mask: 1 they take rows for many
  /// ports in one Set, 2 a form of NVIDIA's with a mask of ports, which the model does not take.
  std::uint8_t optimized_sl_to_vl{1};
  /// Switch ports that enforce partitions let no packet pass between two limited keys, as end ports
  /// do. Else they compare the low 15 bits alone.
  bool strict_enforcement{false};
  Faults faults;
};

/// A MAD that reached a host's software: what no agent of the node itself consumed.
struct Delivery {
  PortRef port;
  bool smi{};          // QP0, else QP1
  mad::Packet packet;  // address = source
  Lid dlid{};          // the LID it was sent to
};

/// How a node misbehaves, for tests and `ctl`.
enum class Behaviour { Normal, Silent, Garbage };

/// In what a node is unlike others, as set_trait() was told; with a port where it is one's.
struct TraitText {
  std::string name, value;
  std::optional<std::uint8_t> port;
};

/// A virtual port of an HCA port, as its management agent has it.
struct VPortState {
  std::uint16_t index{};  // from 1; 0 would be the port itself
  wire::PortState state{};
  Guid guid{}, node_guid{};
  bool lid_required{};
  Lid lid{};
  std::vector<PKey> p_keys;
  wire::MlnxQosConfigSl rates;
};

/// What a host does with one of its virtual ports.
struct VPortChange {
  std::optional<bool> is_up{}, lid_required{};
  std::optional<Guid> guid{};
  std::optional<std::string> description{};
};

struct ModelCounters {
  std::uint64_t sent{}, delivered{}, dropped_loss{}, dropped_queue{}, dropped_no_route{},
      dropped_link_down{}, dropped_key{}, dropped_vl{};
};

/// What passed a port on each of its data VLs, and what of each SL. Data in words of 4 bytes.
struct VlCounters {
  std::array<std::uint64_t, 15> xmit_pkts{}, rcv_pkts{}, rcv_data{};  // by VL
  std::array<std::uint64_t, 16> xmit_data_of_sl{}, rcv_data_of_sl{};
  // In times of a word on the link: how long packets of a VL waited for room or their turn, and
  // those of an SL because the port limits its rate.
  std::array<std::uint64_t, 15> xmit_wait{};
  std::array<std::uint64_t, 16> rate_wait_of_sl{};
  friend bool operator==(const VlCounters&, const VlCounters&) = default;
};

class Model {
 public:
  explicit Model(fabric::Fabric topology, const ModelOptions& options = {});
  ~Model();

  const fabric::Fabric& topology()
      const;  // nodes, names, cables (kept up to date); not the programmed state

  // ---- host side
  // ------------------------------------------------------------------------------------------------
  /// Software on `from` sends `packet` by QP0 (smi) or QP1. Addresses as umad has them.
  void send(Instant now, PortRef from, bool smi, const mad::Packet& packet);
  /// Processes everything due up to and including `now`.
  void advance(Instant now);
  /// When the next thing happens by itself; kNever when nothing is under way.
  Instant next_event() const;
  /// Takes the next MAD that arrived at a host; it is the caller's until the next call. nullptr:
  /// there is none.
  Delivery* next_delivery();
  /// IsSM of a host port, as opening its issm file does. Raises trap 144 as a real port would.
  void set_is_sm(Instant now, PortRef port, bool on);

  // ---- programmed state, as the kernel of that host and `ctl show` see it
  // ----------------------------------------------
  wire::PortInfo port_info(PortRef port) const;
  wire::NodeInfo node_info(NodeIndex node) const;
  wire::SwitchInfo switch_info(NodeIndex node) const;
  std::vector<PKey> p_keys(PortRef port) const;
  std::vector<Guid> guids(PortRef port) const;
  std::uint8_t lft(NodeIndex node, Lid lid) const;
  /// Of a switch that knows it; all 0 for others.
  wire::MlnxArInfo adaptive_routing(NodeIndex node) const;
  /// Ports by which packets to this LID may leave a switch: by adaptive routing, or else one.
  std::vector<std::uint8_t> choices(NodeIndex node, Lid lid, Sl sl = {}) const;
  /// Ports by which a switch forwards a multicast LID, ascending.
  std::vector<std::uint8_t> multicast_ports(NodeIndex node, Lid mlid) const;
  /// VLs of the 16 SLs on the way from input port `in` (switches; else 0) to `out`.
  wire::SlToVlTable sl_to_vl(PortRef out, std::uint8_t in = 0) const;
  /// Block 1 or 2 of low, 3 or 4 of high priority.
  wire::VlArbitrationTable vl_arbitration(PortRef port, unsigned block) const;
  /// Of a CA port whose device limits rates by SL.
  wire::MlnxQosConfigSl sl_rates(PortRef port) const;
  /// Of an end port; a switch's is port 0.
  CongestionState congestion(PortRef port) const;

  // ---- what happens to cables and nodes (ctl)
  // --------------------------------------------------------------------------
  Result<void> link_down(Instant now, PortRef port);
  Result<void> link_up(Instant now, PortRef port);
  Result<void> move_cable(Instant now, PortRef from, PortRef to);
  Result<void> reboot(Instant now, NodeIndex node);
  Result<void> remove(Instant now, NodeIndex node);
  Result<void> bring_back(Instant now, NodeIndex node);
  void set_behaviour(NodeIndex node, Behaviour behaviour);
  /// What a device can hold, or how its agent misbehaves, from now on and after reboots
  /// (doc/sim.md, Devices). A trait of ports counts for all of them where none is named.
  Result<void> set_trait(Instant now, NodeIndex node, std::optional<std::uint8_t> port,
                         std::string_view name, std::string_view value);
  /// Whether set_trait() would do it; nothing changes.
  Result<void> check_trait(NodeIndex node, std::optional<std::uint8_t> port, std::string_view name,
                           std::string_view value) const;
  std::vector<TraitText> traits(NodeIndex node) const;
  /// Of a CA port with the trait `vports`; another has none.
  std::vector<VPortState> vports(PortRef port) const;
  /// Trap 1146, or of a new description 1144.
  Result<void> change_vport(Instant now, PortRef port, unsigned index, const VPortChange& change);
  /// A port's hardware notices errors on its link: trap 129, 130 or 131.
  void report_link_errors(Instant now, PortRef port, std::uint16_t trap_number);
  /// The system image GUID of a node changes, as when a module is replaced: trap 145.
  /// A host names itself, as rdma-ndd does some time after boot: trap 144 that says no more.
  void set_description(Instant now, NodeIndex node, std::string_view text);
  void set_system_image_guid(Instant now, NodeIndex node, Guid guid);
  void set_faults(const Faults& faults);
  void set_link_faults(PortRef port,
                       const Faults& faults);  // loss, delay and duplicate of one cable, both ways
  const Faults& faults() const;
  /// All faults, those of one cable its own.
  Faults link_faults(PortRef port) const;
  void reseed(std::uint64_t seed);

  const ModelCounters& counters() const;
  /// Since power-on, or since a Set of the PMA wrote them.
  VlCounters vl_counters(PortRef port);

  // ---- traffic (doc/sim.md, Flows): counters grow by it as time passes
  // ----------------------------------------------
  /// Their ids. Fails, and adds none, where an end is no end port, an SL is above 15, a size is 0
  /// or a rate is negative.
  Result<std::vector<std::uint32_t>> add_flows(Instant now, const std::vector<FlowSpec>& specs);
  Result<void> remove_flow(Instant now, std::uint32_t id);
  void remove_flows(Instant now);
  std::vector<FlowState> flows(Instant now);
  /// An error counter by the name that perfquery prints; others are named in the error.
  Result<void> set_counter(Instant now, PortRef port, std::string_view name, std::uint32_t value);
  /// It grows from now on; 0: no longer.
  Result<void> grow_counter(Instant now, PortRef port, std::string_view name, double per_second);
  std::vector<std::pair<std::string_view, std::uint32_t>> error_counters(Instant now, PortRef port);

  /// MADs by management class, method, attribute, as seen at their destination.
  struct StatRow {
    std::uint8_t mgmt_class;
    std::uint8_t method;
    std::uint16_t attribute;
    std::uint64_t count;
  };
  std::vector<StatRow> stats() const;

  /// Called for every MAD when it leaves its sender (pcap); slid and dlid as on the wire.
  using Tap = void (*)(void* context, Instant now, Lid slid, Lid dlid, bool smi,
                       const mad::Packet& packet);
  void set_tap(Tap tap, void* context);

  /// Called when the agent of `at`, an end port, has done what a Set of subnet management asked;
  /// `answer` is what it will say, the method still Set.
  using Watch = void (*)(void* context, Instant now, PortRef at, const wire::Mad& answer);
  void set_watch(Watch watch, void* context);

  /// Implementation, spread over several .cpp files of this room.
  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace ib::sim
