// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibsm on one host of the simulated fabric, with its disk; and the seat that it has there, which
// stays when it dies. What it does is told to an Overseer, which may tamper with it.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "sm/daemon/clients_kept.h"
#include "sm/daemon/store_retry.h"
#include "tests/scenario/manager.h"
#include "tests/sim/system/store.h"

namespace soak {

using ib::Instant;

struct Seat;

/// Who sees what subnet managers do, before it is done.
class Overseer {
 public:
  virtual ~Overseer() = default;
  enum class Fate {
    Done,      // as it would be
    Answered,  // nothing is sent, and a good answer comes back
  };
  virtual Fate on_send(Seat& seat, const sm::core::Outgoing& out) = 0;
  virtual void on_report(Seat& seat, sm::core::Report& report) = 0;
  virtual void on_line(Seat& seat, const ib::LogEvent& event) = 0;
  virtual void on_commit(Seat& seat, sm::store::Batch& batch) = 0;
  /// False: it is not sent.
  virtual bool on_sa_packet(Seat& seat, ib::mad::Packet& packet) = 0;
};

class Manager final : public scenario::Manager {
 public:
  using scenario::Manager::publish;
  Manager(ib::sim::World& world, Seat& seat, Overseer& overseer, const sm::sa::Options& sa_options);
  ~Manager() override;

  void step(Instant now) override;
  Instant next_deadline() const override;

  bool is_master() const { return sm().mastership().is_master(); }
  bool is_idle() const { return sm().idle(); }
  const sm::core::SubnetManager& core() const { return sm(); }
  sm::core::SubnetManager& core() { return sm(); }
  sm::store::Contents registered() const { return sa().contents(); }
  /// Clients that were asked to register again have time left.
  bool awaits_clients() const { return sa().awaits_clients(); }
  /// Everything it sent and everybody it told, so far.
  std::uint64_t sends() const { return sends_; }

 private:
  void ask_clients(ib::Instant now, const std::vector<ib::Guid>& ports) override;
  void commit(sm::store::Batch batch) override;
  void publish(const sm::SnapshotPtr& snapshot) override;
  void publish_stopgap(const sm::SnapshotPtr& snapshot, bool registers) override;
  bool keep(const sm::store::Batch& batch) override;
  bool lets_out(ib::mad::Packet& packet) override;
  ib::Result<void> send(const sm::core::Outgoing& out) override;
  void report(sm::core::Report report) override;
  void log(const ib::LogEvent& event) override;
  void recall(sm::core::Recall how) override;
  bool shares_store() const override;
  void on_sm_status(const sm::core::SmStatus& status) override;
  bool is_master_elsewhere(Instant now) const;
  sm::daemon::StoreRetry unwritten();
  void keep_clients(sm::store::Batch batch);
  bool write(const sm::store::Batch& batch);

  Seat& seat_;
  Overseer& overseer_;
  sm::daemon::ClientsKept clients_;
  sm::daemon::StoreRetry lids_;
  bool deposed_{false};
  sm::store::Contents known_;  // of a shared disk
  bool was_deposed_{false};    // while it is master: another one has taken the shared disk
  bool apart_{false};          // and manages another part of the fabric: known_ is written
  bool recalls_{false};        // it is asked for again
  std::uint64_t sends_{0};
  std::deque<ib::mad::Packet> answers_;  // to what was never sent
};

struct Seat {
  unsigned number{};
  ib::fabric::PortRef at;
  sm::core::Options options;
  Disk* disk{};
  std::unique_ptr<Manager> manager;
  bool hangs{false};
  bool runs() const { return manager != nullptr; }
  bool is_master() const { return manager && manager->is_master(); }
};

}  // namespace soak
