// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Subnet administration: answers ClassPortInfo, NodeRecord, PortInfoRecord, PathRecord and
// MCMemberRecord from the published snapshot, and keeps the multicast groups. A machine: packets,
// time and snapshots go in; packets, store commits and group changes come out. Reads never wait;
// a write is answered only after its commit was reported done.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libdiag/base/instant.h"
#include "libdiag/mad/transport.h"
#include "sm/core/snapshot.h"
#include "sm/sa/multicast.h"
#include "sm/sa/quotas.h"
#include "sm/sa/wall_clock.h"
#include "sm/store/store.h"

namespace sm::sa {

struct Options {
  std::uint64_t sm_key{1};  // requests carry 0 or this; any other is dropped. This one is trusted.
  std::uint8_t resp_time_value{16};  // ClassPortInfo: 4.096 us x 2^16 = 268 ms
  bool kernel_rmpp{false};           // the transport segments: answers leave whole, and capped
  std::size_t kernel_table_bytes_max{16U << 20};
  std::size_t transfers_max{256};        // tables under way at once; more are answered BUSY
  std::size_t writes_pending_max{4096};  // uncommitted joins and leaves; more are answered BUSY
  Quotas quotas;
  WallClock wall_clock;            // leases are kept by it
  bool default_ipoib_group{true};  // ff12:401b:ffff::ffff:ffff, made when absent
};

struct Counters {
  std::uint64_t requests{}, answers{}, records{}, errors{};  // errors: answers with a status
  std::uint64_t dropped_not_ready{}, dropped_sm_key{}, dropped_malformed{}, dropped_stray{};
  std::uint64_t replayed{};  // repeated requests answered from the first one's answer
  std::uint64_t transfers{}, transfers_aborted{}, segments{}, segments_resent{};
};

/// Write this, then say on_commit_done(ticket). Commits come one at a time.
struct Commit {
  std::uint64_t ticket{};
  store::Batch batch;
};

class Server {
 public:
  /// `contents` is what the store held at start.
  explicit Server(const Options& options, const store::Contents& contents = {});
  ~Server();
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;

  /// A new subnet. Tables under way finish from the snapshot they began with.
  void publish(ib::Instant now, SnapshotPtr snapshot);

  /// Everything that arrives for class 3: requests, and RMPP ACK, STOP, ABORT of tables under way.
  void on_packet(ib::Instant now, const ib::mad::Packet& packet);
  void on_time(ib::Instant now);
  ib::Instant next_deadline() const;
  void on_commit_done(ib::Instant now, std::uint64_t ticket, bool durable);

  // Effects; each call moves one out.
  std::optional<ib::mad::Packet> next_send(ib::Instant now);
  std::optional<Commit> next_commit();
  /// True once after groups or memberships changed: multicast() is to be routed anew.
  bool take_multicast_changed();

  /// Groups by MLID, ascending; groups without members included.
  std::vector<MlidMembers> multicast() const;
  store::Contents contents() const;  // everything registered; no LIDs
  const Counters& counters() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Runs every commit that `server` wants on `store`. The last failure's message, empty if none.
std::string run_commits(Server& server, store::Store& store, ib::Instant now);

}  // namespace sm::sa
