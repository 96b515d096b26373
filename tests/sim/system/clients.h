// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Clients: programs on hosts that want to be members of groups, to have services registered and to
// be told of notices, and ask for paths; all hosts in one Program. They ask until they are
// answered, register again when their port comes up or they are asked to, as Linux does, and
// remember what was acknowledged.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "libdiag/sim/host_port.h"
#include "libdiag/wire/sa_records.h"
#include "sm/store/store.h"
#include "tests/sim/system/dice.h"

namespace soak {

enum class Wanted : std::uint8_t { Membership, Service, Notices };
std::string_view name_of(Wanted what);

/// One thing that a client registers, or takes back.
struct Wish {
  Wanted what{};
  unsigned number{};  // of the group, service or kind of notice
  bool wanted{true};  // else it is taken back
  /// What is wanted was acknowledged, and nothing has happened since that may have undone it.
  bool granted{false};
  bool again{false};         // once what is under way is answered
  std::uint16_t refused{0};  // with this status, the last time
  std::uint64_t tid{0};      // of the request that is under way; 0: none is
  ib::Instant ask_at{0};     // not before
  ib::Duration pause{0};
};

/// A path that a client asked for.
struct PathQuestion {
  ib::fabric::PortRef to;
  std::uint64_t tid{0};  // 0: it is answered
  bool answered{false};
  std::uint16_t status{0};
  ib::wire::PathRecord answer;
  unsigned answers{0};  // to this question
};

class Clients final : public ib::sim::Program {
 public:
  Clients(ib::sim::World& world, const std::vector<ib::fabric::PortRef>& hosts);
  ~Clients() override;

  struct Client {
    ib::fabric::PortRef at;
    std::unique_ptr<ib::sim::HostPort> port;
    ib::mad::AgentId agent{};
    std::deque<Wish> wishes;
    std::optional<PathQuestion> path;
    std::uint64_t reports{0};
  };
  std::deque<Client>& all() { return clients_; }
  const std::deque<Client>& all() const { return clients_; }

  /// A client wants `number` of `what`, or wants it no longer.
  void want(std::size_t client, Wanted what, unsigned number, bool wanted);
  /// A path to that port is asked for; the question before it is forgotten.
  void ask_path(std::size_t client, ib::fabric::PortRef to);
  /// A device took a Set of PortInfo.
  void on_port_set(ib::fabric::PortRef at, const ib::wire::PortInfo& set);

  /// All it wants was granted, and it knows.
  bool is_content(const Client& client) const;
  /// In words, with how it was refused.
  static std::string what_is_missing(const Client& client);

  void step(ib::Instant now) override;
  ib::Instant next_deadline() const override;

  static ib::Gid group(unsigned number);
  static std::uint64_t service(unsigned number) { return 0x1000 + number; }
  static std::uint16_t notice(unsigned number);

 private:
  bool may_ask(const Client& client) const;
  void ask(ib::Instant now, Client& client, Wish& wish);
  void ask(Client& client, PathQuestion& question);
  void send(Client& client, ib::mad::Packet packet, std::uint64_t tid);
  void take(ib::Instant now, Client& client, const ib::mad::Received& received);
  void look_for_deadline();

  ib::sim::World& world_;
  std::deque<Client> clients_;
  std::uint64_t tid_{0};
  ib::Instant due_{ib::kNever};
};

}  // namespace soak
