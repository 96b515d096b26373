// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Console: who is at the terminal or at the TCP port, and what is said there. What commands do is
// in sm/console and console_orders.h.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "sm/console/session.h"
#include "sm/control/clients.h"
#include "sm/daemon/console_options.h"
#include "sm/daemon/log_file.h"
#include "sm/daemon/terminal.h"

namespace sm::daemon {

class Console final : private control::Listener {
 public:
  /// Has words done. Trusted is who is at the terminal.
  using Runner = std::function<console::Outcome(console::Words, bool is_trusted)>;

  /// Null: options call for none, or there can be none, which the log says.
  static std::unique_ptr<Console> open(const ConsoleOptions& options, LogFile& log, Runner runner);

  /// Answers what has been said, and goes on with loops.
  void serve(ib::Instant now);
  ib::Instant next_deadline() const;
  /// Readable when serve() has something to do; -1: there is no such.
  int port_fd() const { return clients_ ? clients_->readable_fd() : -1; }
  int terminal_fd() const { return terminal_ ? terminal_->readable_fd() : -1; }

 private:
  Console(ConsoleOptions options, LogFile& log, Runner runner);

  bool admits(int fd) override;
  std::string greeting(control::ClientId) override { return console::kPrompt; }
  control::Reply on_line(control::ClientId client, std::string_view line) override;
  std::string too_long() const override;
  void on_gone(control::ClientId client) override;

  void listen_to_terminal();
  void answer_terminal(std::string_view line);
  console::Session::Runner runner(bool is_trusted);
  void say(ib::LogLevel level, std::string message);

  ConsoleOptions options_;
  LogFile& log_;
  Runner runner_;
  ib::Instant now_{};
  std::optional<control::Clients> clients_;
  std::map<control::ClientId, console::Session> sessions_;
  std::optional<Terminal> terminal_;  // nothing: nobody is there, or not any more
  console::Session typing_;           // of the terminal
};

}  // namespace sm::daemon
