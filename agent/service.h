// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Service: waits on every port of the host and hands each request to the Responder. The adapter
// around it.
#pragma once

#include <memory>
#include <vector>

#include "agent/responder.h"

namespace agent {

/// One opened port with its registrations.
struct ServedPort {
  std::unique_ptr<ib::mad::Port> port;
  Ingress ingress;
  std::string name;  // "mlx5_0/1"
};

/// Registers the agent's classes (0x30 and 0x32, OpenIB OUI, method Get) on `port`.
ib::Result<void> register_classes(ib::mad::Port& port);

/// Serves until `stop_fd` becomes readable. An error: a port failed (a device went away); systemd
/// starts the agent again.
ib::Result<void> serve(std::vector<ServedPort>& ports, Responder& responder, int stop_fd);

}  // namespace agent
