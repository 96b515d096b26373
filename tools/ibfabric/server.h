// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The server: one thread, one epoll set, a Model and a HostKernel for every port in use. It owns
// the only clock. Protocol in protocol.h.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "libdiag/base/result.h"
#include "libdiag/sim/model.h"
#include "tools/ibfabric/hosts.h"

namespace ibfabric {

class Server final : public Hosts {
 public:
  /// Executes a `ctl` command (a JSON text) and answers: exit status and text.
  struct CommandResult {
    int status{0};
    std::string text;
  };
  using Command = std::function<CommandResult(ib::Instant now, const std::string& command)>;

  Server(ib::sim::Model& model, Command command);
  ~Server() override;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Listens at `path`, which is removed again by the destructor. A socket file nobody listens at
  /// is taken over.
  ib::Result<void> listen(const std::string& path);

  /// Serves until `on_signal`, called for what arrives at `signal_fd` (a signalfd), returns an exit
  /// status.
  int run(int signal_fd, const std::function<std::optional<int>(int signal)>& on_signal);

  std::vector<OpenFile> open_files() const override;
  void reset_dropped() override;

 private:
  /// Waits for what comes by sockets, if nothing else is to be done. An exit status ends it all.
  std::optional<int> look_at_sockets(
      int signal_fd, const std::function<std::optional<int>(int signal)>& on_signal);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ibfabric
