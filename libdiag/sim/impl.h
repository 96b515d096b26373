// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Inside of the Model: what nodes and ports remember, MADs under way, and the event queue. Private
// to libdiag/sim; everything else sees model.h.
//
// Every port of the fabric has one index, nodes one after the other (Fabric::Node::first_port +
// port number), so that a hop is an array access.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "libdiag/sim/adaptive.h"
#include "libdiag/sim/congestion.h"
#include "libdiag/sim/event_queue.h"
#include "libdiag/sim/model.h"
#include "libdiag/wire/gmp_attributes.h"
#include "libdiag/wire/rates.h"

namespace ib::sim {

using PortIndex = std::uint32_t;
inline constexpr PortIndex kNoPort = 0xFFFFFFFF;
using FlightIndex = std::uint32_t;
inline constexpr FlightIndex kNoFlight = 0xFFFFFFFF;

/// Physical link training, from both ends polling to LinkUp. Devices take some milliseconds (IBA
/// 5.6 allows longer).
inline constexpr Duration kTraining = std::chrono::milliseconds(10);
/// Between the answer to the Set that takes a link down and the link going down.
inline constexpr Duration kLinkAction = std::chrono::microseconds(20);
/// Hops after which a packet caught in a forwarding loop meets the switches' life-time limit.
inline constexpr std::uint8_t kHopLimit = 72;
/// How often a trap is repeated when nobody represses it.
inline constexpr std::uint8_t kTrapRepeats = 16;
/// Packet length between the start delimiter and the VCRC, in words of 4 bytes: LRH 8, BTH 12,
/// DETH 8, MAD 256, ICRC 4 bytes; a GRH adds 40.
inline constexpr std::uint64_t kMadWords = 72, kGrhWords = 10;

/// What a packet travels a link by.
struct SlVl {
  std::uint8_t sl{}, vl{};
};

/// Where a MAD comes from and goes to, and how far it is.
struct Journey {
  std::uint16_t slid{}, dlid{};
  std::uint16_t p_key{};        // the key itself; GMPs only
  std::uint16_t p_key_index{};  // at the receiver, set by its check
  std::uint32_t source_qp{}, target_qp{}, q_key{};
  Gid source_gid, target_gid;
  std::uint32_t flow_label{};
  std::uint8_t sl{}, hop_limit{}, traffic_class{};
  std::uint8_t vl{};  // on the link that it is on
  bool smi{}, has_grh{};
  bool off_sender{};  // the sender's loss, delay and duplicate have been decided
  bool buffered{};    // counts in the in_flight of `egress`
  bool from_sma{};
  std::uint8_t hops{};
  PortIndex egress{kNoPort};  // the port it left by last
  PortIndex ingress{
      kNoPort};  // the port it came in by; the end port itself when it never travelled
  bool local{};  // a directed route that ends where it began: its SMI has nothing left to do
};

inline constexpr Journey kNowhere;

/// The VL of subnet management, which is in no table and has no SL (IBA 7.6).
inline constexpr std::uint8_t kManagementVl = 15;

/// The way of GMPs from a host port to a LID, where nothing befalls them (express.cpp).
struct Way {
  std::uint64_t generation{};  // of what it depends on; 0: none
  PortIndex from{kNoPort}, to{kNoPort};
  std::uint16_t dlid{}, p_key{};
  std::uint8_t sl{}, hops{};
  std::array<PortIndex, 12> out{};    // the ports it leaves by
  std::array<std::uint8_t, 12> vl{};  // and the VLs there
  std::uint32_t under_way{};
  std::uint64_t packets{}, words{};  // that have arrived and are not counted at the ports yet
};
inline constexpr std::uint32_t kNoWay = 0xFFFFFFFF;

/// A MAD on its way.
struct Flight : Journey {
  wire::Mad mad;
  struct {
    std::uint32_t way{kNoWay};
    std::uint32_t place{};  // in Impl::express_
    std::int64_t left{};    // when it set out, and how much later it comes to the end of each hop
    std::array<std::uint32_t, std::tuple_size_v<decltype(Way::out)>> arrival{};
  } express;
  /// Another MAD's; both halves are written once. A Journey made on the spot would be written by
  /// small stores and read again by large loads, which wait for them.
  void begin(const wire::Mad& sent) {
    static_cast<Journey&>(*this) = kNowhere;
    mad = sent;
  }
};

/// PMA counters; what an attribute cannot hold saturates when it is read.
struct Counters {
  std::uint64_t xmit_data{}, rcv_data{}, xmit_pkts{}, rcv_pkts{};
  std::uint64_t unicast_xmit{}, unicast_rcv{}, multicast_xmit{}, multicast_rcv{};
  std::uint64_t rcv_vl15_pkts{}, rcv_vl15_data{};
  std::uint64_t xmit_wait{};
  std::uint32_t symbol_errors{}, link_recovery{}, link_downed{}, rcv_errors{}, rcv_remote_errors{},
      rcv_relay_errors{}, xmit_discards{}, xmit_constraint{}, rcv_constraint{}, link_integrity{},
      buffer_overrun{}, qp1_dropped{}, vl15_dropped{};
  std::uint32_t dlid_mapping_errors{}, vl_mapping_errors{},
      looping_errors{};                                    // of rcv_relay_errors
  std::uint32_t inactive_discards{}, lifetime_discards{};  // of xmit_discards
};

/// Tables of a port that differ from their power-on contents; allocated by the first Set.
struct PortTables {
  std::vector<PKey> p_keys;
  std::vector<Guid> guids;
  std::vector<wire::SlToVlTable> sl_to_vl;  // by input port
  std::array<std::unique_ptr<wire::VlArbitrationTable>, 4> vl_arbitration;
  std::unique_ptr<wire::MlnxQosConfigSl> sl_rates;
  std::unique_ptr<CongestionState> congestion;
  std::uint32_t congestion_lease{};  // stamps the CC_Key lease timer; 0 when it is not running
};

struct LinkFault {
  double loss_percent{}, duplicate_percent{};
  Duration delay{};
};

struct SimPort {
  wire::PortInfo info;  // as a Get answers it, LocalPortNum apart
  NodeIndex node{};
  std::uint8_t number{};
  bool is_sm{};
  bool cut{};  // the cable was taken down by hand (ctl link down)
  std::uint8_t fdr10_supported{}, fdr10_enabled{}, fdr10_active{};
  wire::LinkWidth cable_width{wire::LinkWidth::Unknown};
  wire::LinkSpeed cable_speed{wire::LinkSpeed::Unknown};
  PortIndex peer{kNoPort};       // where the cable ends
  std::uint32_t training{};      // stamps the training under way; an older LinkUp event is stale
  std::uint32_t lease{};         // stamps the M_Key lease timer; 0 when it is not running
  std::uint32_t word_time_ps{};  // time of one 4-byte word on this link
  std::uint32_t in_flight{};     // MADs between this port and its peer
  std::uint32_t fault{};         // 1 + index in link_faults_, 0 none
  std::array<std::uint32_t, 2> receive_waiting{};  // deliveries not taken: QP0, QP1
  std::int64_t busy_until{};                       // the transmitter
  Guid guid{};
  Counters counters;
  std::unique_ptr<VlCounters> vls;  // from the first packet on a data VL on
  std::unique_ptr<PortTables> tables;
};

/// A notice that its SMA repeats until it is repressed (IBA 14.2.5.1, 13.4.9).
struct PendingTrap {
  Tid tid{};
  PortIndex port{kNoPort};  // the end port that sends it
  wire::Notice notice;
  std::uint8_t sent{};
};

struct SimSwitch {
  wire::SwitchInfo info;
  std::vector<std::uint8_t> lft;   // grows with the highest block set
  std::vector<std::uint16_t> mft;  // [mlid - 0xC000][position]
  std::uint8_t mft_positions{1};
  std::unique_ptr<AdaptiveState> adaptive;  // none: it does not know adaptive routing
};

struct DeviceTraits;
struct VirtualPort;
struct VirtualPorts;

struct SimNode {
  SimNode();
  SimNode(SimNode&&) noexcept;
  ~SimNode();

  wire::NodeType type{};
  std::uint8_t num_ports{};
  bool powered{true};
  bool tells_capabilities{};  // GeneralInfo; and can limit rates by SL
  Behaviour behaviour{Behaviour::Normal};
  std::uint16_t partition_cap{};
  PortIndex first_port{};
  std::uint32_t sma_waiting{};
  std::int64_t sma_busy_until{};
  std::uint32_t trap_tid{};
  std::array<char, 64> description{};
  std::unique_ptr<SimSwitch> sw;
  std::vector<PendingTrap> traps;
  std::unique_ptr<DeviceTraits> traits;  // none: as all others
  bool is_switch() const { return sw != nullptr; }
};

/// xoshiro256** seeded by SplitMix64: the same stream on every machine, which <random>'s
/// distributions do not promise.
class Random {
 public:
  explicit Random(std::uint64_t seed);
  std::uint64_t next();
  bool chance(double percent);

 private:
  std::array<std::uint64_t, 4> s_{};
};

enum class EventKind : std::uint8_t {
  Arrive,           // a: flight, b: port
  Depart,           // a: flight, b: port it leaves by
  Local,            // a: flight, b: end port: handed over inside a node
  Serve,            // a: flight, b: end port: the SMA or PMA has worked it off
  Land,             // a: flight, b: end port: it has come all the way at once
  LinkUp,           // a: port, b: training stamp
  LinkSet,          // a: port, b: wanted PortPhysicalState
  Trap,             // a: node, b: low word of the trap's TID
  Lease,            // a: port, b: lease stamp
  CongestionLease,  // a: port, b: lease stamp of its CC_Key
  Flows,            // flows go by what has been programmed
};

class Traffic;

struct Model::Impl {
  Impl(fabric::Fabric topology, const ModelOptions& model_options);
  ~Impl();

  // ---- model.cpp: construction, reading
  void build_node(NodeIndex n, bool keep_lids);
  void reset_port(PortIndex p, bool keep_lid);
  void reset_node_state(NodeIndex n, bool keep_lids);
  PortIndex index_of(PortRef ref) const { return nodes_[ref.node].first_port + ref.port; }
  PortRef ref_of(PortIndex p) const { return {ports_[p].node, ports_[p].number}; }
  bool valid(PortRef ref) const;
  Result<PortIndex> cabled(PortRef ref) const;
  SimPort& port(PortIndex p) { return ports_[p]; }
  SimNode& node_of(PortIndex p) { return nodes_[ports_[p].node]; }
  /// The end port that speaks for `p`: port 0 of a switch, else `p`.
  PortIndex end_port(PortIndex p) const {
    const SimNode& n = nodes_[ports_[p].node];
    return n.is_switch() ? n.first_port : p;
  }
  bool owns_lid(const SimPort& p, std::uint16_t lid) const {
    const std::uint16_t base = p.info.lid.value;
    return base != 0 && lid >= base && lid < base + (1U << p.info.lmc);
  }
  PortTables& tables(PortIndex p);
  std::size_t p_key_slots(PortIndex p) const;
  PKey p_key_at(const SimPort& p, std::size_t index) const;
  Guid guid_at(const SimPort& p, std::size_t index) const;

  // ---- transport.cpp, directed_routes.cpp, receivers.cpp: MADs on their way
  FlightIndex allocate();
  void release(FlightIndex f);
  Flight& flight(FlightIndex f) { return flight_chunks_[f >> 8][f & 0xFF]; }
  void schedule(std::int64_t at, EventKind kind, std::uint32_t a, std::uint32_t b) {
    events_.push(at, static_cast<std::uint8_t>(kind), a, b);
  }
  void run(const Event& event);
  void send(PortRef from, bool smi, const mad::Packet& packet);
  /// Puts `f` on its way from the node of end port `from`.
  void originate(FlightIndex f, PortIndex from);
  void originate_directed(FlightIndex f, PortIndex from);
  void originate_by_lid(FlightIndex f, PortIndex from);
  std::int64_t hold_back();
  void leave(FlightIndex f, PortIndex out);
  void depart(FlightIndex f, PortIndex out);
  void arrive(FlightIndex f, PortIndex in);
  void receive_directed(FlightIndex f, PortIndex in);
  void receive_by_lid(FlightIndex f, PortIndex in);
  void forward_unicast(FlightIndex f, PortIndex in);
  void forward_multicast(FlightIndex f, PortIndex in);
  bool is_allowed(const SimPort& p, PKey key, bool inbound) const;
  bool switch_allows(FlightIndex f, PortIndex at, bool inbound);
  void accept_local(FlightIndex f, PortIndex end);
  bool check_keys(FlightIndex f, PortIndex end);
  void consume(FlightIndex f, PortIndex end);
  void queue_for_agent(FlightIndex f, PortIndex end);
  void serve(FlightIndex f, PortIndex end);
  void respond(FlightIndex f, PortIndex end);
  void deliver(FlightIndex f, PortIndex end);
  Delivery* take_delivery();
  std::uint8_t vl_of(const SimPort& out, std::uint8_t in, std::uint8_t sl) const;
  void discard_by_vl(FlightIndex f);
  static std::uint64_t words_of(const Flight& x) { return kMadWords + (x.has_grh ? kGrhWords : 0); }
  static std::int64_t time_of(const SimPort& p, std::uint64_t words) {
    return static_cast<std::int64_t>(words * p.word_time_ps / 1000);
  }
  /// Puts so many words on the cable of `p`, `at` at the earliest; when they are at its other end.
  std::int64_t transmit(SimPort& p, std::uint64_t words, std::int64_t at) const {
    const std::int64_t start = at > p.busy_until ? at : p.busy_until;
    p.busy_until = start + time_of(p, words);
    return p.busy_until + options_.hop_latency.count();
  }
  static VlCounters& vls(SimPort& p) {
    if (!p.vls) p.vls = std::make_unique<VlCounters>();
    return *p.vls;
  }
  static void count_sent(SimPort& p, std::uint64_t packets, std::uint64_t words, SlVl sl_vl,
                         bool multicast) {
    p.counters.xmit_pkts += packets;
    p.counters.xmit_data += words;
    (multicast ? p.counters.multicast_xmit : p.counters.unicast_xmit) += packets;
    if (sl_vl.vl == kManagementVl) return;
    VlCounters& of = vls(p);
    of.xmit_pkts[sl_vl.vl] += packets;
    of.xmit_data_of_sl[sl_vl.sl] += words;
  }
  static void count_received(SimPort& p, std::uint64_t packets, std::uint64_t words, SlVl sl_vl,
                             bool multicast) {
    p.counters.rcv_pkts += packets;
    p.counters.rcv_data += words;
    (multicast ? p.counters.multicast_rcv : p.counters.unicast_rcv) += packets;
    if (sl_vl.vl == kManagementVl) {
      p.counters.rcv_vl15_pkts += packets;
      p.counters.rcv_vl15_data += words;
      return;
    }
    VlCounters& of = vls(p);
    of.rcv_pkts[sl_vl.vl] += packets;
    of.rcv_data[sl_vl.vl] += words;
    of.rcv_data_of_sl[sl_vl.sl] += words;
  }
  void drop(FlightIndex f, std::uint64_t& counter) {
    ++counter;
    release(f);
  }
  void count_stat(const wire::Mad& mad);
  void tap(const Flight& f) {
    if (!tap_) return;
    tap_packet_.address = {};
    tap_packet_.address.qpn = f.target_qp;
    tap_packet_.address.q_key = f.q_key;
    tap_packet_.address.sl = Sl{f.sl};
    if (f.has_grh)
      tap_packet_.address.grh =
          mad::Grh{f.target_gid, 0, f.hop_limit, f.traffic_class, f.flow_label};
    tap_packet_.mad = f.mad;
    tap_(tap_context_, now_, Lid{f.slid}, Lid{f.dlid}, f.smi, tap_packet_);
  }

  // ---- express.cpp: GMPs all the way at once
  std::size_t flights_in_use() const { return (flight_chunks_.size() << 8) - free_flights_.size(); }
  static bool carries_gmps(const SimPort& p) {
    return p.info.port_physical_state == wire::PhysState::LinkUp &&
           p.info.port_state == wire::PortState::Active;
  }
  bool find_way(Way& way) const;
  Way* way_of(PortIndex from, const Flight& x);
  bool send_express(FlightIndex f, PortIndex from);
  void land(FlightIndex f, PortIndex end);
  void leave_express(Flight& x);
  void count_arrived(Way& way);
  void count_all_arrived();
  void end_express();
  void forget_ways();

  // ---- sma.cpp, sma_tables.cpp, port_info.cpp: the subnet management agent
  /// False: the request is to be dropped without an answer.
  bool sma_answer(Flight& f, PortIndex end);
  void show_state(Flight& f, PortIndex end, const DeviceTraits& traits) const;
  bool m_key_allows(const Flight& f, PortIndex end);
  std::uint16_t sma_attribute(Flight& f, PortIndex end, bool set);
  std::uint16_t sma_node_info(Flight& f, PortIndex end, bool set);
  std::uint16_t sma_switch_info(Flight& f, PortIndex end, bool set);
  std::uint16_t sma_guid_info(Flight& f, PortIndex end, bool set);
  std::uint16_t sma_p_keys(Flight& f, PortIndex end, bool set);
  std::uint16_t sma_sl_to_vl(Flight& f, PortIndex end, bool set);
  std::uint16_t sma_vl_arbitration(Flight& f, PortIndex end, bool set);
  wire::SlToVlTable sl_to_vl_at(const SimPort& out, std::size_t in) const;
  wire::VlArbitrationTable vl_arbitration_at(const SimPort& port, std::size_t block) const;
  std::uint16_t sma_linear_forwarding(Flight& f, PortIndex end, bool set);
  std::uint16_t sma_multicast_forwarding(Flight& f, PortIndex end, bool set);
  std::uint16_t sma_extended_port_info(Flight& f, PortIndex end, bool set);
  std::uint16_t sma_port_info_extended(Flight& f, PortIndex end, bool set) const;
  std::uint16_t sma_port_states(Flight& f, PortIndex end, bool set) const;
  std::uint16_t sma_general_info(Flight& f, PortIndex end, bool set);
  std::uint16_t sma_qos_config_sl(Flight& f, PortIndex end, bool set);
  std::uint16_t sma_port_info(Flight& f, PortIndex end, bool set);

  // ---- virtual_ports.cpp
  /// nullptr: the port has none.
  VirtualPorts* virtual_ports(PortIndex end);
  void give_virtual_ports(PortIndex end, unsigned count);
  void virtual_ports_follow(PortIndex end);
  wire::PortState vport_state(PortIndex end, const VirtualPorts& all, unsigned index) const;
  std::uint16_t sma_virtualization(Flight& f, PortIndex end, bool set);
  std::uint16_t sma_virtualization_info(Flight& f, PortIndex end, bool set);
  std::uint16_t sma_vport_info(Flight& f, PortIndex end, VirtualPort* v, bool set);
  std::uint16_t sma_vport_states(Flight& f, PortIndex end, bool set);
  static std::uint16_t sma_vport_p_keys(Flight& f, VirtualPort& v, std::size_t block, bool set);
  static std::uint16_t sma_vport_guids(Flight& f, VirtualPort& v, std::size_t block, bool set);
  std::uint16_t sma_vport_rates(Flight& f, PortIndex end, bool set);

  // ---- port_info.cpp
  std::uint16_t set_port_info(PortIndex p, const wire::PortInfo& wanted, bool extended);
  void set_port_states(PortIndex at, const wire::PortInfo& wanted);
  std::uint8_t lft_entry(const SimSwitch& sw, std::uint16_t lid) const;

  // ---- adaptive.cpp
  /// The port by which a packet leaves a switch; 0: to the switch itself, 255: by none.
  std::uint8_t exit_of(const SimNode& node, std::uint16_t lid, std::uint8_t sl) const;
  /// The next packet may leave by another.
  bool chooses_exit(const SimNode& node, std::uint16_t lid, std::uint8_t sl) const;
  std::uint16_t sma_ar_info(Flight& f, PortIndex end, bool set);
  std::uint16_t sma_ar_group(Flight& f, PortIndex end, bool set);
  std::uint16_t sma_ar_lft(Flight& f, PortIndex end, bool set);

  wire::NodeInfo make_node_info(NodeIndex n, PortIndex by) const;
  void garble(Flight& f);
  /// The port an attribute modifier names, or kNoPort.
  PortIndex addressed_port(const Flight& f, PortIndex end, std::uint32_t number) const;

  // ---- links.cpp: cables, training, power
  void set_state(PortIndex p, wire::PortState state);
  bool can_train(PortIndex p) const;
  void start_training(PortIndex p);
  void finish_training(PortIndex p);
  void negotiate(PortIndex p);
  void forget_speeds(PortIndex p);  // that it was told, if it is such a device
  void run_at(SimPort& p, wire::LinkSpeed speed);
  /// Takes the link at `p` down, both ends; `phys` is what `p` itself does next.
  void drop_link(PortIndex p, wire::PhysState phys);
  void apply_phys_state(PortIndex p, wire::PhysState phys);
  void unplug(PortIndex p);
  void plug(PortIndex a, PortIndex b, wire::LinkWidth width, wire::LinkSpeed speed);
  void note_link_change(PortIndex p);

  // ---- traps.cpp
  void raise(PortIndex end, std::uint16_t number, std::uint8_t type,
             const std::array<std::uint8_t, 54>& details);
  void raise(PortIndex end, wire::Notice notice);
  void send_trap(NodeIndex n, PendingTrap& pending);
  void repeat_trap(NodeIndex n, std::uint32_t tid_low);
  bool repress(const Flight& f, PortIndex end);
  void trap_link_state(NodeIndex n);
  void trap_bad_m_key(const Flight& f, PortIndex end);
  void trap_bad_key(const Flight& f, PortIndex end, std::uint16_t number, std::uint32_t key);
  void trap_switch_p_key(const Flight& f, PortIndex at);
  void trap_capability(PortIndex end);
  void trap_vport(PortIndex end, std::uint16_t number, std::uint16_t index);
  void trap_description(PortIndex end);
  void start_lease(PortIndex end);
  void end_lease(PortIndex p, std::uint32_t stamp);

  // ---- device.cpp: what a node is unlike others in
  /// Once more, after a reboot or a change.
  void apply_traits(NodeIndex n);

  // ---- traffic.cpp: flows
  Traffic& traffic();
  /// Counters of a node are as of now.
  void count_traffic(NodeIndex node);

  // ---- pma.cpp
  std::uint16_t pma_answer(Flight& f, PortIndex end);

  // ---- congestion.cpp
  /// False: the request is to be dropped without an answer.
  bool congestion_answer(Flight& f, PortIndex end);
  CongestionState& congestion(PortIndex end);
  bool cc_key_allows(const Flight& f, PortIndex end);
  void end_congestion_lease(PortIndex end, std::uint32_t stamp);
  std::uint32_t congestion_time() const { return static_cast<std::uint32_t>(now_.ns / 1024); }
  std::uint16_t congestion_attribute(Flight& f, PortIndex end, bool set);
  std::uint16_t congestion_key_info(Flight& f, PortIndex end, bool set);
  std::uint16_t congestion_log(Flight& f, PortIndex end);
  std::uint16_t switch_port_congestion(Flight& f, PortIndex end, bool set);
  std::uint16_t congestion_table(Flight& f, PortIndex end, bool set);

  fabric::Fabric fabric_;
  ModelOptions options_;
  Faults faults_;
  Instant now_{};
  Random random_;
  std::vector<SimNode> nodes_;
  std::vector<SimPort> ports_;
  std::vector<std::unique_ptr<Flight[]>> flight_chunks_;  // 256 each; flights never move
  std::vector<FlightIndex> free_flights_;
  std::vector<FlightIndex> express_;  // those that come all the way at once
  std::vector<Way> ways_;             // found by hash
  std::vector<std::uint32_t> ways_to_count_;
  std::uint64_t generation_{1};  // of everything that ways depend on
  EventQueue events_;
  struct Arrived {
    FlightIndex flight;
    PortIndex port;
  };
  std::deque<Arrived> arrived_;
  std::unique_ptr<Traffic> traffic_;  // from the first flow on
  Delivery taken_;                    // the last
  std::vector<LinkFault> link_faults_;
  ModelCounters counters_;
  std::vector<StatRow> stats_;
  std::array<std::uint16_t, 64> last_stats_{};  // by hash of a kind: where it was found last
  Tap tap_{nullptr};
  void* tap_context_{nullptr};
  Watch watch_{nullptr};
  void* watch_context_{nullptr};
  mad::Packet tap_packet_;
};

}  // namespace ib::sim
