// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Server: the daemon's control socket. A unix socket in the state directory; root and the user that
// ibsm runs as may connect.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "sm/control/clients.h"
#include "sm/control/protocol.h"

namespace sm::control {

class Server {
 public:
  /// Listens at `path`; a socket that nobody listens at any more is replaced. An error is of kind
  /// Unavailable when somebody does, else Io.
  static ib::Result<Server> listen(const std::string& path);
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  ~Server();

  /// Readable when serve() has something to do.
  int readable_fd() const;
  using Handler = std::function<Answer(const Request&)>;
  /// Answers what has arrived, a request of each client, on this thread.
  void serve(const Handler& handler);

  static constexpr std::size_t kClientsMax = Clients::kMost;

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sm::control
