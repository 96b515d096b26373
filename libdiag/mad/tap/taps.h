// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Taps: Ports that stand before another Port and watch or disturb what passes. They stack in any
// order; each outlives nothing but borrows the Port behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>

#include "libdiag/mad/tap/pcap.h"
#include "libdiag/mad/transport.h"

namespace ib::mad {

using Clock = std::function<Instant()>;

/// Passes everything on; what the others start from.
class TapPort : public Port {
 public:
  explicit TapPort(Port& behind) : behind_(behind) {}
  Result<PortFacts> facts() override { return behind_.facts(); }
  Result<AgentId> register_agent(const AgentSpec& spec) override {
    return behind_.register_agent(spec);
  }
  Result<void> send(AgentId agent, const Packet& packet, Duration reply_within) override {
    return behind_.send(agent, packet, reply_within);
  }
  Result<void> receive(std::vector<Received>& out, Duration wait) override {
    return behind_.receive(out, wait);
  }
  int readable_fd() const override { return behind_.readable_fd(); }
  std::uint32_t window_max() const override { return behind_.window_max(); }
  std::optional<SaLimits> sa_limits() const override { return behind_.sa_limits(); }

 protected:
  Port& behind_;
};

/// "> Get(NodeInfo) to DR path 0,1 tid 0x00040001", and with `body` a line for each field. `remark`
/// follows the first line.
std::vector<std::string> trace_lines(char direction, const Packet& packet, bool body,
                                     const char* remark = "");

/// One line for each MAD, sent ">" or received "<":
///
///     0.000213 > Get(NodeInfo) to DR path 0,1 tid 0x00040001
///     0.000287 < GetResp(NodeInfo) from DR path 0,1 tid 0x00040001 status 0x0000
///
/// The first column is seconds since the tap was made. With `bodies` every field follows, indented.
class TracePort final : public TapPort {
 public:
  using Sink = std::function<void(const std::string& line)>;
  TracePort(Port& behind, Sink sink, Clock clock, bool bodies = false);
  Result<void> send(AgentId agent, const Packet& packet, Duration reply_within) override;
  Result<void> receive(std::vector<Received>& out, Duration wait) override;

 private:
  void print(char direction, const Packet& packet, const char* remark);

  Sink sink_;
  Clock clock_;
  Instant start_;
  bool bodies_;
};

/// Everything into a capture file.
class PcapPort final : public TapPort {
 public:
  PcapPort(Port& behind, PcapWriter& writer, Clock clock);
  Result<void> send(AgentId agent, const Packet& packet, Duration reply_within) override;
  Result<void> receive(std::vector<Received>& out, Duration wait) override;

 private:
  Lid own_lid(const Packet& packet);

  PcapWriter& writer_;
  Clock clock_;
  Instant read_at_;
  Lid lid_;
};

struct PortFaults {
  double loss_percent{0};  // of MADs, each way
  double duplicate_percent{0};
  Duration delay{0};  // each way
};

/// Loses, doubles and delays MADs, the same ones for the same seed and traffic. With a delay there
/// is no readable_fd().
class FaultPort final : public TapPort {
 public:
  FaultPort(Port& behind, const PortFaults& faults, std::uint64_t seed, Clock clock);
  Result<void> send(AgentId agent, const Packet& packet, Duration reply_within) override;
  Result<void> receive(std::vector<Received>& out, Duration wait) override;
  int readable_fd() const override;

  std::uint64_t lost() const { return lost_; }
  std::uint64_t duplicated() const { return duplicated_; }

 private:
  struct Outgoing {
    AgentId agent;
    Packet packet;
    Duration reply_within;
  };
  int copies();  // 0: lost, 2: doubled
  Result<void> release(std::vector<Received>& out);
  Instant next_release() const;

  PortFaults faults_;
  Clock clock_;
  std::mt19937_64 random_;
  std::multimap<Instant, Outgoing> to_send_;
  std::multimap<Instant, Received> to_deliver_;
  std::vector<Received> fresh_;
  std::uint64_t lost_{0}, duplicated_{0};
};

}  // namespace ib::mad
