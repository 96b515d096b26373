// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// System: a fabric, its subnet managers with their disks, clients and a host that misbehaves, in
// virtual time. It plays a script, lets all faults end, waits until it is quiet, and has checks
// look at every step of that.
//
//   items happen ... faults end --> settled? --> checks --> nothing happens for a while --> checks
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libdiag/sim/host_port.h"
#include "tests/sim/system/checks/check.h"
#include "tests/sim/system/clients.h"
#include "tests/sim/system/manager.h"
#include "tests/sim/system/mutant.h"
#include "tests/sim/system/partitions.h"
#include "tests/sim/system/script.h"
#include "tests/sim/system/wires.h"

namespace soak {

using ib::Duration;

struct RunOptions {
  std::function<void(const std::string&)> trace;  // empty: nobody reads it
  Mutant* mutant{nullptr};                        // what is wrong on purpose; null: nothing is
};

class System final : private Overseer {
 public:
  System(Script script, RunOptions options);
  ~System() override;

  /// Plays it. What the checks found; empty: all is well.
  std::vector<Finding> run();

  // ---- for checks
  ib::sim::World& world() { return world_; }
  ib::sim::Model& model() { return world_.model(); }
  Instant now() const { return world_.now(); }
  const Script& script() const { return script_; }
  std::vector<std::unique_ptr<Seat>>& seats() { return seats_; }
  Clients& clients() { return *clients_; }
  const Partitions& partitions() const { return partitions_; }
  /// As the devices have it now; read again after anything happened.
  const Wires& wires();
  /// The subnet managers that answer for somebody: running, joined to others, master.
  std::vector<Seat*> masters();
  /// The master that a node is joined to; null: none, or several.
  Seat* master_of(NodeIndex node);
  /// It can hold no subnet manager to anything: its GUID is another's too, or it is broken for
  /// good.
  bool is_excused(NodeIndex node) const { return excused_.contains(node); }
  bool is_excused(PortRef port) const {
    return is_excused(port.node) || excused_ports_.contains(port);
  }
  Instant last_event() const { return last_event_; }
  bool faults_are_over() const { return faults_over_; }
  bool is_settled() const { return settled_; }
  /// All subnet managers go by one memory of LIDs and groups, which was never lost.
  bool was_cable_moved() const { return cable_was_moved_; }
  bool has_one_memory() const { return disks_.size() == 1 && !disk_was_lost_; }
  void report(std::string invariant, std::string what);
  bool has_findings() const { return !findings_.empty(); }
  std::string name(PortRef port);

  // ---- for what happens
  void later(Duration pause, std::function<void()> what);
  void start(Seat& seat);
  void kill(Seat& seat);
  /// After that many more SMPs of it; it starts again `down` later.
  void kill_after(Seat& seat, std::uint64_t sends, Duration down);
  /// Something that can be seen of cables, nodes or programs.
  void note_event();
  void excuse(NodeIndex node) { excused_.insert(node); }
  void excuse(PortRef port) { excused_ports_.insert(port); }
  Partitions& partitions() { return partitions_; }
  /// A cable ends elsewhere: SMPs and packets that were meant for one node come to another, until
  /// the sweep that finds it.
  void note_moved_cable() { cable_was_moved_ = true; }
  /// It says other things of its tables than they are, or nothing: nobody can know what it holds.
  void note_liar(NodeIndex node) { liars_.insert(node); }
  bool is_liar(NodeIndex node) const { return liars_.contains(node); }
  bool is_moved_cable_new() const { return cable_was_moved_ && !settled_; }
  /// Something that was acknowledged is gone with a disk.
  void note_lost_disk() { disk_was_lost_ = true; }
  void set_wall_jump(Duration jump) { wall_jump_ = jump; }
  void trace(const std::string& line);
  bool traces() const { return static_cast<bool>(options_.trace); }
  /// Sends an SMP or GMP from a host, as some program there.
  void send_from(PortRef at, bool smi, ib::mad::Packet packet);
  /// Whom an SMP of a subnet manager reaches; kNoNode: nobody.
  NodeIndex target_of(const Seat& seat, const sm::core::Outgoing& out);
  /// Hosts with neither clients nor subnet managers, the last first.
  const std::vector<PortRef>& idle_hosts() const { return idle_hosts_; }
  const std::vector<PortRef>& hosts() const { return hosts_; }
  bool is_seat(NodeIndex node) const;

 private:
  Fate on_send(Seat& seat, const sm::core::Outgoing& out) override;
  void on_report(Seat& seat, sm::core::Report& report) override;
  void on_line(Seat& seat, const ib::LogEvent& event) override;
  void on_commit(Seat& seat, sm::store::Batch& batch) override;
  bool on_sa_packet(Seat& seat, ib::mad::Packet& packet) override;

  Overseer& overseer() { return *this; }
  void seat_managers();
  void seat_clients();
  void play();
  void end_faults();
  bool settle();
  bool looks_settled();
  std::string why_not_settled();
  void watch_quietly();
  void run_until(Instant end);
  template <class Tell>
  void tell_checks(Tell tell) {
    for (const auto& check : checks_) tell(*check);
  }
  static void on_device_set(void* self, Instant now, PortRef at, const ib::wire::Mad& answer);

  Script script_;
  RunOptions options_;
  Partitions partitions_;
  ib::sim::World world_;
  std::vector<PortRef> hosts_, idle_hosts_;
  std::vector<std::unique_ptr<Disk>> disks_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::unique_ptr<Clients> clients_;
  Checks checks_;
  std::multimap<Instant, std::function<void()>> later_;
  std::vector<std::pair<Seat*, Duration>> dying_;  // and how long they are dead
  std::map<const Seat*, std::pair<std::uint64_t, Duration>> fuses_;
  std::set<NodeIndex> excused_, liars_;
  std::set<PortRef> excused_ports_;
  Instant last_event_{0};
  Duration wall_jump_{0};
  bool faults_over_{false}, settled_{false}, disk_was_lost_{false};
  bool cable_was_moved_{false};
  std::map<const Seat*, std::uint64_t> looks_before_;
  std::unique_ptr<Wires> wires_;
  Instant wires_at_{ib::kNever};
  std::uint64_t tid_{0};
  std::vector<Finding> findings_;
};

/// One case from its word to its findings.
std::vector<Finding> run_case(const Case& c, const RunOptions& options = {});

}  // namespace soak
