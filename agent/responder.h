// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Responder: decides what ibtracerd answers. A machine: a request and the port it came in by go in,
// an answer comes out or does not. No I/O, no clock, bounded memory whatever arrives.
//
// Served: class 0x30 ClassPortInfo, SourceRoute and MulticastRoute (the ibtracer protocol), class
// 0x32 ping (stock `ibping`) and ClassPortInfo, both with the OpenIB OUI, method Get. It never
// answers with more than it was asked with, and only the asker.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libdiag/mad/transport.h"

namespace agent {

/// Allows `rate` events a second on average and `burst` at once.
class TokenBucket {
 public:
  TokenBucket() = default;
  TokenBucket(double rate, double burst) : rate_(rate), burst_(burst), tokens_(burst) {}
  /// Takes one if there is one; the first call finds a full bucket.
  bool take(ib::Instant now);

 private:
  double rate_{0}, burst_{0}, tokens_{0};
  ib::Instant last_{0};
  bool started_{false};
};

struct ResponderOptions {
  std::string host;          // answered to ping: "host.domain", cut to 215 bytes
  double source_rate{5000};  // answers a second to one source LID; burst is a fifth of it
  double total_rate{20000};  // answers a second in all; burst is a fifth of it
};

struct ResponderCounters {
  std::uint64_t answered{}, mismatches{}, limited{}, ignored{}, refused{};
};

/// The port that a request came in by.
struct Ingress {
  std::uint8_t port_num{};     // of this CA, or 0 on a switch
  bool knows_external_port{};  // a CA's umad descriptor belongs to one port; a switch's does not
                               // say which port it was
  ib::Guid node_guid{}, port_guid{};
};

class Responder {
 public:
  explicit Responder(const ResponderOptions& options);

  /// All ports that are served: of a group it answers for those of the node that was asked.
  void set_ports(std::vector<Ingress> ports) { ports_ = std::move(ports); }

  /// The answer to `request`, or nothing: not a request, not ours, or over a limit.
  std::optional<ib::mad::Packet> answer(ib::Instant now, Ingress ingress,
                                        const ib::mad::Packet& request);

  const ResponderCounters& counters() const { return counters_; }

 private:
  bool admit(ib::Instant now, const ib::mad::Address& source);
  std::uint16_t serve(Ingress ingress, ib::wire::Mad& mad);
  std::uint16_t serve_multicast_route(Ingress ingress, ib::wire::Mad& mad);

  // Sources hash into a fixed table, so a thousand invented sources cost nothing; two that share a
  // slot share its rate.
  static constexpr std::size_t kSourceSlots = 1024;
  ResponderOptions options_;
  std::vector<Ingress> ports_;
  ResponderCounters counters_;
  TokenBucket total_;
  std::array<TokenBucket, kSourceSlots> sources_;
};

}  // namespace agent
