// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Dispatcher: routes unsolicited MADs to handlers by class, method and attribute, and deals with
// the rest as the specification says. No I/O: packet in, answer out. Nothing that arrives is fatal.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "libdiag/mad/transport.h"

namespace ib::mad {

/// The method that answers `request`: GetResp to Get and Set, GetTableResp to GetTable, and so on;
/// none for what expects no answer and for answers themselves.
std::optional<wire::Method> response_method(wire::Method request);

/// The answer to `request` as far as headers go: response method, status, sent back to where it
/// came from, with the request's own attribute and data. Only for what response_method() knows.
Packet make_reply(const Packet& request, std::uint16_t status = wire::status::kOk);

struct DispatchCounters {
  std::uint64_t handled{};
  std::uint64_t responses{};      // answers to nothing of ours; dropped
  std::uint64_t unknown_class{};  // dropped: nobody promised to serve it
  std::uint64_t bad_version{};    // answered 0x0004
  std::uint64_t bad_method{};     // answered 0x0008
  std::uint64_t bad_attribute{};  // answered 0x000C
  std::uint64_t dropped{};        // of the last three, what expects no answer
};

class Dispatcher {
 public:
  /// Answers one request: `reply` comes as make_reply() made it. False: no answer is to be sent,
  /// and what `reply` holds is not looked at. For methods without an answer `reply` means nothing.
  using Handler = std::function<bool(Instant now, const Packet& request, Packet& reply)>;

  /// A class is served in one version; a handler for a class not declared serves version 1.
  void declare(wire::MgmtClass mgmt_class, std::uint8_t class_version);
  void serve(wire::MgmtClass mgmt_class, wire::Method method, std::uint16_t attribute,
             Handler handler);

  /// The answer to send by the agent the packet came to, if any.
  std::optional<Packet> on_packet(Instant now, const Packet& packet);

  const DispatchCounters& counters() const { return counters_; }

 private:
  std::optional<Packet> refuse(const Packet& packet, std::uint16_t status);

  std::map<std::uint8_t, std::uint8_t> versions_;  // by class
  std::map<std::tuple<std::uint8_t, std::uint8_t, std::uint16_t>, Handler> handlers_;
  DispatchCounters counters_;
};

}  // namespace ib::mad
