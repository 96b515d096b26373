// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A small fabric whose devices answer SMPs as they are, or as the input has it: late, with a
// status, with bytes of their own, or with what another one answered.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "libdiag/base/text.h"
#include "libdiag/discover/sweep.h"
#include "libdiag/fabric/generate.h"
#include "libdiag/sim/model.h"
#include "tests/fuzz/fuzz.h"

namespace ib::fuzz {

/// Four switches and four hosts.
inline const fabric::Fabric& small_fabric() {
  static const fabric::Fabric made = [] {
    fabric::FatTree tree;
    tree.leaves = 2;
    tree.spines = 2;
    tree.hosts_per_leaf = 2;
    tree.radix = 4;
    return fabric::generate(tree).value();
  }();
  return made;
}

class SweptDevices {
 public:
  SweptDevices() : model_(small_fabric()) {
    const auto& f = model_.topology();
    for (fabric::NodeIndex n = 0; n < f.nodes().size() && !at_; ++n)
      if (!f.node(n).is_switch() && f.port(n, 1).peer) at_ = {n, 1};
    for (fabric::NodeIndex n = 0; n < f.nodes().size(); n += 2)
      if (f.node(n).is_switch())
        require(model_.set_trait(now_, n, {}, "port_state_table", "1").has_value(), "a trait");
  }
  sim::Model& model() { return model_; }
  Instant now() const { return now_; }

  /// What comes of the request; without `in` as the device is.
  mad::Completion answer(const mad::Request& request, Input* in) {
    const std::uint8_t kind = in != nullptr ? in->byte() : std::uint8_t{0};
    if (kind % 16 == 15) return {request.cookie, fail(ErrorKind::TimedOut, "no answer"), {}, 8};
    if (kind % 16 == 14) return {request.cookie, fail(ErrorKind::Io, "no way"), {}, 0};
    auto packet = ask(request);
    if (!packet) return {request.cookie, fail(ErrorKind::TimedOut, "no answer"), {}, 8};
    auto& mad = packet->mad;
    const auto remembered = last_.find(mad.attribute_id());
    if (kind % 16 == 12 && remembered != last_.end())
      std::copy_n(remembered->second.begin(), wire::kSmpDataBytes, mad.data());
    if (kind % 16 != 11)
      std::copy_n(mad.data(), wire::kSmpDataBytes, last_[mad.attribute_id()].begin());
    if (kind % 16 == 13) mad.set<&wire::MadHeader::status>(in->byte() & 0x1CU);
    for (unsigned changed = kind / 16 % 4; changed > 0; --changed) {
      const std::size_t at = in->byte() % wire::kSmpDataBytes;
      mad.data()[at] = static_cast<std::byte>(in->byte());
    }
    return {request.cookie, *std::move(packet), {}, 1};
  }

  /// Until it is done. The number of requests.
  std::size_t serve(mad::Exchange& machine, Input* in, std::size_t most) {
    std::size_t asked = 0;
    while (!machine.done()) {
      auto requests = machine.take_requests();
      require(!requests.empty() || machine.done(), "a sweep is never stuck");
      for (const auto& request : requests) {
        require(++asked <= most, "a sweep comes to its end");
        machine.on_completion(now_, answer(request, in));
      }
    }
    return asked;
  }

 private:
  std::optional<mad::Packet> ask(const mad::Request& request) {
    mad::Packet question{request.address, request.mad, {}};
    question.mad.set<&wire::MadHeader::tid>(Tid{++tid_});
    model_.send(now_, at_, true, question);
    std::optional<mad::Packet> answer;
    while (!answer && model_.next_event() != kNever) {
      now_ = std::max(now_, model_.next_event());
      model_.advance(now_);
      while (auto* delivery = model_.next_delivery())
        if (delivery->packet.mad.tid().value == tid_) answer = delivery->packet;
    }
    return answer;
  }

  sim::Model model_;
  fabric::PortRef at_;
  Instant now_{1};
  std::uint64_t tid_{0};
  std::map<std::uint16_t, std::array<std::byte, wire::kSmpDataBytes>> last_;  // by attribute
};

/// What a sweep found hangs together, and can be told.
inline void require_sound(const discover::Observed& seen) {
  const auto& f = seen.fabric;
  require(seen.nodes.size() == f.nodes().size(), "each node was observed");
  require(seen.ports.size() == f.port_count(), "each port has its place");
  for (fabric::NodeIndex n = 0; n < f.nodes().size(); ++n) {
    require(f.find_node(f.node(n).guid) == n, "a GUID is one node's");
    for (unsigned p = 0; p <= f.node(n).num_ports; ++p) {
      const fabric::PortRef at{n, static_cast<std::uint8_t>(p)}, peer = f.port(at).peer;
      if (!peer) continue;
      require(peer.node < f.nodes().size() && peer.port <= f.node(peer.node).num_ports,
              "a cable ends at a port");
      require(f.port(peer).peer == at, "a cable has two ends");
    }
  }
  for (const auto& trouble : seen.troubles)
    require(printable(trouble.message) == trouble.message, "a trouble is one line");
}

}  // namespace ib::fuzz
