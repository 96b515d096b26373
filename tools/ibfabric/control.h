// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ibfabric ctl`: the commands as values, their text on the socket, and what they do to a Model.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"
#include "libdiag/sim/model.h"
#include "tools/ibfabric/hosts.h"

namespace ibfabric {

inline constexpr const char* kSchema = "ibkit.ibfabric/2";

/// A command as the user wrote it: "link", {"down", NODE, PORT}; options by name without dashes.
struct CtlCommand {
  std::string verb;
  std::vector<std::string> words;
  std::map<std::string, std::string> options;
  bool json{false};
  friend bool operator==(const CtlCommand&, const CtlCommand&) = default;
};
/// The text of a command on the socket, and the command of such a text; of a text that is none, one
/// without a verb, which Control refuses.
std::string encode(const CtlCommand& command);
CtlCommand decode(std::string_view text);

/// Of CtlResult's status: nobody has the name; the command exits 2 as for any other refusal.
inline constexpr int kNobody = 3;

/// Status (0 done; 2 nothing done: usage, or it cannot be; kNobody) and text.
struct CtlResult {
  int status{0};
  std::string text;
};

/// Writes what passes in a Model to a file for Wireshark.
class Capture {
 public:
  virtual ~Capture() = default;
  /// start() ends the one before. Errors: the file cannot be opened, or not be written to its end.
  virtual ib::Result<void> start(const std::string& path) = 0;
  virtual ib::Result<void> stop() = 0;
};

/// Does what commands say to the model, at the time that it is given.
class Control {
 public:
  Control(ib::sim::Model& model, Capture& capture, Hosts& hosts)
      : model_(model), capture_(capture), hosts_(hosts) {}
  /// Of a command that is refused nothing is done.
  CtlResult execute(ib::Instant now, const CtlCommand& command);

 private:
  CtlResult link(ib::Instant now, const CtlCommand& command);
  CtlResult node(ib::Instant now, const CtlCommand& command);
  CtlResult cable(ib::Instant now, const CtlCommand& command);
  CtlResult faults(const CtlCommand& command);
  CtlResult seed(const CtlCommand& command);
  CtlResult show(const CtlCommand& command);
  CtlResult pcap(const CtlCommand& command);
  CtlResult stats(const CtlCommand& command);
  CtlResult locate(const CtlCommand& command);
  CtlResult thresholds(const CtlCommand& command);
  CtlResult device(ib::Instant now, const CtlCommand& command);
  CtlResult vport(ib::Instant now, const CtlCommand& command);
  CtlResult flow(ib::Instant now, const CtlCommand& command);
  CtlResult flow_pattern(ib::Instant now, const CtlCommand& command, ib::sim::FlowSpec spec,
                         std::uint64_t seed);
  CtlResult add_flows(ib::Instant now, const CtlCommand& command,
                      const std::vector<ib::sim::FlowSpec>& specs);
  CtlResult list_flows(ib::Instant now, const CtlCommand& command);
  CtlResult counters(ib::Instant now, const CtlCommand& command);

  /// NODE or NODE:PORT; of a CA without a port its first.
  ib::Result<ib::sim::PortRef> end_port(std::string_view text) const;
  /// Host ports that are ACTIVE and have a LID, in the order of the file.
  std::vector<ib::sim::PortRef> hosts_with_lids() const;
  ib::Result<ib::sim::PortRef> find_port(std::string_view node, std::string_view port) const;

  ib::sim::Model& model_;
  Capture& capture_;
  Hosts& hosts_;
};

}  // namespace ibfabric
