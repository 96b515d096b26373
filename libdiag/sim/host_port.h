// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// World: a Model, the kernels of its hosts, programs on them and one virtual clock, all in one
// thread. Tests run whole programs in it: a subnet manager on one host, agents on others, a tool
// that blocks in its Session on a third. The clock moves only from event to event, so a minute of
// timeouts costs nothing and every run is the same.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "libdiag/mad/transport.h"
#include "libdiag/sim/kernel.h"
#include "libdiag/sim/model.h"

namespace ib::sim {

class World;

/// A program that lives from its port and the clock: the in-process form of a daemon's event loop.
class Program {
 public:
  virtual ~Program() = default;
  /// Something may have arrived, or next_deadline() has come: take it in, send what is to be sent.
  /// Must not wait (receive() with a wait of 0 only).
  virtual void step(Instant now) = 0;
  virtual Instant next_deadline() const = 0;
};

/// mad::Port over one umad file of a simulated host.
class HostPort final : public mad::Port {
 public:
  HostPort(World& world, PortRef at, HostKernel& kernel);
  ~HostPort() override;
  HostPort(const HostPort&) = delete;
  HostPort& operator=(const HostPort&) = delete;

  Result<mad::PortFacts> facts() override;
  Result<mad::AgentId> register_agent(const mad::AgentSpec& spec) override;
  Result<void> send(mad::AgentId agent, const mad::Packet& packet, Duration reply_within) override;
  /// Waiting lets the World run, other programs included, until something arrives here.
  Result<void> receive(std::vector<mad::Received>& out, Duration wait) override;
  int readable_fd() const override { return -1; }

  PortRef at() const { return at_; }
  bool readable() const { return kernel_.front(file_) != nullptr; }
  /// IsSM, as opening the port's issm file sets it; false when another holds it.
  bool set_is_sm(bool on);

 private:
  World& world_;
  PortRef at_;
  HostKernel& kernel_;
  FileId file_;
  std::optional<IssmId> issm_;
};

class World {
 public:
  explicit World(fabric::Fabric topology, const ModelOptions& options = {});
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Model& model() { return model_; }
  Instant now() const { return now_; }
  /// A clock for what wants one (mad::Session).
  std::function<Instant()> clock() {
    return [this] { return now_; };
  }

  /// Opens the port of a host as one program does. Lives as long as the World does not end before.
  std::unique_ptr<HostPort> open(PortRef at);
  HostKernel& kernel(PortRef at);

  /// Programs are stepped in the order they were added, whenever something arrived anywhere or the
  /// program's deadline has come. The caller keeps them alive and removes them before they die.
  void add(Program& program);
  void remove(Program& program);

  void run_for(Duration duration);
  /// Runs until `done` holds (looked at whenever a MAD was delivered or a program stepped) or
  /// `limit` has passed; true in the first case.
  bool run_until(const std::function<bool()>& done, Duration limit);

 private:
  struct Host {
    ModelAttachment attachment;
    HostKernel kernel;
    Host(Model& model, PortRef at) : attachment(model, at), kernel(attachment) {}
  };
  friend class HostPort;

  /// On to the next event that a host or program can notice, at most to `until`. False: `until` was
  /// reached and nothing is due any more.
  bool advance(Instant until);
  bool pump();
  void step_programs(bool all);
  Host& host(PortRef at);

  Model model_;
  Instant now_{};
  bool stepping_{false};
  std::uint64_t idle_steps_{0};  // without the clock moving on
  std::unordered_map<std::uint64_t, std::unique_ptr<Host>> hosts_;
  std::vector<Host*> open_hosts_;  // those whose kernels can have something due
  std::vector<Program*> programs_;
};

}  // namespace ib::sim
