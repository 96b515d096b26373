// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Subnet administration: answers every class 3 request from the published snapshot and from what
// clients have registered. A machine: packets, time and snapshots go in; packets, store commits and
// group changes come out. Reads never wait; a write is answered only after its commit was reported
// done.
//
//   on_packet --> RMPP in --> trust, replays --> admission --> work: read, begin a table, write
//
// Every request that is let in gets exactly one answer, be it BUSY.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libdiag/base/instant.h"
#include "libdiag/base/log.h"
#include "libdiag/mad/transport.h"
#include "sm/device/device_state.h"
#include "sm/device/snapshot.h"
#include "sm/sa/commit.h"
#include "sm/sa/counters.h"
#include "sm/sa/limits.h"
#include "sm/sa/options.h"
#include "sm/sa/registry/aliases.h"
#include "sm/sa/registry/multicast.h"
#include "sm/store/store.h"

namespace sm::sa {

class Server {
 public:
  /// `contents` is what the store held at start.
  explicit Server(const Options& options, const store::Contents& contents = {});
  ~Server();
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;

  /// A new subnet. Tables under way finish from the snapshot they began with. `registers` false:
  /// requests that register are dropped until the next one, since another one writes the store.
  void publish(ib::Instant now, SnapshotPtr snapshot, bool registers = true);
  /// Another one is to answer for the subnet, and does not yet: it goes on, until it is to withdraw
  /// or cannot store what clients register, which is answered by nobody then. `registers` false:
  /// they do not register any more.
  void hand_over(bool registers);
  bool hands_over() const;
  /// Somebody else answers for the subnet (IBA 15.4.3): requests are dropped, and nobody is
  /// reported to, until the next snapshot.
  void withdraw();
  /// What is registered is this now, as at a start: another one has answered meanwhile. Requests
  /// that wait are forgotten, and nothing is answered before the next snapshot. Who was answered
  /// here till then by what is not registered any more is to be asked to register again.
  void restore(const store::Contents& contents);
  /// These ports are about to be asked to register again, since another subnet manager may have
  /// answered them: what they registered here so far is theirs to repeat.
  void doubt(const std::vector<ib::Guid>& ports);
  /// Likewise, since another port had their LID for a while: what was subscribed to for them of
  /// late.
  void doubt_subscriptions(ib::Instant now, const std::vector<ib::Guid>& ports);
  /// They took the request. What they do not repeat within a minute ends.
  void on_asked_again(ib::Instant now, const std::vector<ib::Guid>& ports);
  /// Ports that were asked have time left.
  bool awaits_clients() const;
  /// What its devices hold; goes with the snapshot that is or is about to be published.
  void publish(DeviceStatePtr device_state);

  /// From now on packets for other subnets leave by these.
  void set_prefix_routes(std::vector<PrefixRoute> routes);
  /// From now on these rules decide which level of service a path has; nullptr: there are none.
  void set_qos(std::shared_ptr<const policy::QosPolicy> rules);

  /// In force from the next request on.
  Limits limits() const;
  void set_limits(const Limits& limits);
  void reset_counters();

  /// Everything that arrives for class 3: requests, and RMPP ACK, STOP, ABORT of tables under way.
  /// Requests are only taken in; work() serves them.
  void on_packet(ib::Instant now, const ib::mad::Packet& packet);
  /// A few packets before: begins to fetch from memory what will be looked at.
  void expect(const ib::mad::Packet& packet) const;
  /// One step, of some 10 us: serves one of the requests that wait, or looks on for the records of
  /// one that takes longer. False when there is nothing that can be done now.
  bool work(ib::Instant now);
  bool has_work() const;
  /// A device at `from` sent this as a trap.
  void on_notice(ib::Instant now, const ib::wire::Notice& notice, ib::Lid from);
  void on_time(ib::Instant now);
  ib::Instant next_deadline() const;
  void on_commit_done(ib::Instant now, std::uint64_t ticket, bool durable);

  struct Tidied {
    bool is_worth_a_trim{};  // a megabyte or more was freed since it was last said
    bool is_done{};          // nothing is kept that is still to be freed
  };
  /// Frees what a storm needed and nothing needs now. To be called now and then after requests came
  /// in, until it is done.
  Tidied tidy(ib::Instant now);

  // Effects; each call moves one out. Commits first: answers follow from them. A packet to be sent
  // is the caller's until the next call of anything here; nullptr: there is none.
  std::optional<Commit> next_commit();
  ib::mad::Packet* next_send(ib::Instant now);
  /// How long the transport is to wait for the answer to that packet; 0: there will be none.
  ib::Duration reply_within() const;
  std::optional<ib::LogEvent> next_log();
  /// True once after groups or memberships changed: multicast() is to be routed again. With many
  /// members not every few milliseconds; next_deadline() says when.
  bool take_multicast_changed();
  /// True once after alias GUIDs changed: ports are to be programmed with aliases().
  bool take_aliases_changed();
  /// Ports, each once, whose clients are to be asked to register again: subscriptions of theirs
  /// ended since no Report was answered, or restore() left out what they had. next_deadline() says
  /// when there are some.
  std::vector<ib::Guid> take_untold_clients();

  /// Groups by MLID, ascending; groups without members included.
  std::vector<MlidMembers> multicast() const;
  /// Those that are durable: what the ports are to hold.
  const Aliases::Map& aliases() const;
  /// Grows with every change of them; DeviceState say which of them the ports were programmed by.
  std::uint64_t aliases_revision() const;
  store::Contents contents() const;  // everything registered; no LIDs
  const Counters& counters() const;
  /// Grows with every change that became durable.
  std::uint64_t revision() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sm::sa
