// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ClientChannel: the managers' way to QP1 of the devices: one Transactor for all of them, beside
// that of the subnet manager and those of the SA. It has no port; who drives it sends what
// next_send() hands out and brings what arrives.
//
//   on_subnet_up, on_packet, on_time --> ClientChannel --> next_send, next_log
//                                          |     ^
//                          on_completion   v     |  take_requests
//                                         Manager ...
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libdiag/mad/transactor.h"
#include "sm/managers/manager.h"

namespace sm::managers {

class ClientChannel {
 public:
  explicit ClientChannel(const ib::mad::TransactorOptions& options = {});

  /// At most 256 of them.
  void add(std::unique_ptr<Manager> manager);
  /// There are no managers: no port is needed.
  bool empty() const { return members_.empty(); }
  /// What is to be registered at the port: each class once.
  std::vector<ib::mad::AgentSpec> agents() const;

  // ---- events
  /// Null: there are no routes yet, and nobody is told.
  void on_subnet_up(ib::Instant now, const SnapshotPtr& subnet);
  void on_watched(ib::Instant now, const SnapshotPtr& subnet, const std::string& master);
  /// False: the answer to no request of ours, or one that came too late.
  bool on_packet(ib::Instant now, const ib::mad::Packet& packet);
  /// The transport refused `order`.
  void on_send_failed(const ib::mad::SendOrder& order, ib::Error error);
  void on_time(ib::Instant now);
  ib::Instant next_deadline() const;

  // ---- effects: taken after every event, until there are none
  std::optional<ib::mad::SendOrder> next_send(ib::Instant now);
  std::optional<ib::LogEvent> next_log();

  /// No manager has anything under way that `ibsm --once` should wait for.
  bool idle() const;
  const ib::mad::TransactorCounters& counters() const { return transactor_.counters(); }

 private:
  struct Member {
    std::unique_ptr<Manager> manager;
    std::size_t pending{0};  // requests without a completion
  };

  void deliver(ib::Instant now);
  void collect(ib::Instant now);

  ib::mad::Transactor transactor_;
  std::vector<Member> members_;
  std::deque<ib::LogEvent> log_;
};

}  // namespace sm::managers
