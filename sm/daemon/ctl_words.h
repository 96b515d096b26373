// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibsm ctl`: a request to the running daemon, and what it answers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "libdiag/cli/command_line.h"
#include "sm/control/protocol.h"

namespace sm::daemon {

class CtlWords {
 public:
  explicit CtlWords(std::string version) : version_(std::move(version)) {}
  CtlWords(const CtlWords&) = delete;  // its options are written into it
  CtlWords& operator=(const CtlWords&) = delete;

  void add_to(ib::cli::CommandLine& line);
  /// Asks, prints, and gives the status. `default_socket` where none is named.
  int run(const std::string& default_socket) const;
  /// Where the daemon keeps its state; empty: not said.
  const std::string& state_dir() const { return state_dir_; }

 private:
  int refuse(const control::Request& request, const ib::Error& error, int status) const;
  int follow(const std::string& socket, control::Request request) const;
  ib::cli::CommandLine& add_verb(ib::cli::CommandLine& line, const char* name, const char* purpose);

  std::vector<std::pair<const char*, const ib::cli::CommandLine*>> verbs_;
  std::string version_, socket_, state_dir_, owner_;
  std::string service_id_, p_key_, qos_class_, since_;  // empty: not said
  std::vector<std::string> words_;
  bool limited_{false}, both_{false}, json_{false}, errors_{false}, follow_{false};
};

}  // namespace sm::daemon
