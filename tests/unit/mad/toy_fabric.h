// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Targets with a service time and a finite queue behind lossy cables, in virtual time: the least
// that tells a good retransmission from a bad one. LIDs are targets' numbers, from 1. What answers
// is an echo, not an SMA.
#pragma once

#include <algorithm>
#include <map>
#include <queue>
#include <random>
#include <vector>

#include "libdiag/mad/transport.h"

namespace ib::mad::test {

/// Something that serves one MAD after the other.
struct Server {
  Duration service{std::chrono::microseconds(2)};
  std::uint32_t depth{64};  // waiting and in service; more are dropped
  bool silent{false};
  std::uint16_t deaf_attribute{0};  // requests for this one are dropped, not answered

  Instant busy_until{0};
  std::uint32_t queued{0};
  std::uint64_t arrived{0}, dropped{0}, served{0};
  std::uint32_t queued_most{0};
};

class ToyFabric : public Port {
 public:
  explicit ToyFabric(std::size_t targets, std::uint64_t seed = 1) : nodes(targets), random(seed) {}

  std::vector<Server> nodes;
  Server transit{Duration{0}, 1U << 30};  // what every request passes on its way
  double loss{0};                         // each way, 0 to 1
  Duration latency{std::chrono::microseconds(5)};
  Instant now{0};
  Instant frozen_from{kNever}, frozen_to{kNever};  // nothing moves in between
  std::uint64_t lost{0};
  std::size_t places{0};                           // for requests whose answer is waited for
  std::uint64_t kept_back{0};                      // found none; sent all the same
  std::map<std::uint64_t, std::uint32_t> sent_to;  // by target
  std::vector<wire::Mad> sent;                     // kept when keep_sent
  bool keep_sent{false};

  auto clock() {
    return [this] { return now; };
  }

  Result<PortFacts> facts() override { return PortFacts{}; }
  Result<AgentId> register_agent(const AgentSpec&) override { return 0; }
  int readable_fd() const override { return -1; }

  Result<void> send(AgentId, const Packet& packet, Duration reply_within) override {
    if (places != 0) take_place(packet.mad.tid().value, reply_within);
    const auto target = std::size_t{packet.address.lid.value} - 1;
    if (target >= nodes.size()) return fail(ErrorKind::Io, "no such LID");
    ++sent_to[target];
    if (keep_sent) sent.push_back(packet.mad);
    if (is_lost()) return {};
    events.push({now + latency, ++order, Event::AtTransit, target, packet});
    return {};
  }

  Result<void> receive(std::vector<Received>& out, Duration wait) override {
    const Instant until = now + wait;
    while (out.empty() && !events.empty() && events.top().when <= until) {
      const Instant batch = events.top().when;
      now = std::max(now, batch);
      while (!events.empty() && events.top().when <= batch) {
        Event event = events.top();
        events.pop();
        if (event.when >= frozen_from && event.when < frozen_to) {
          event.when = frozen_to;
          events.push(std::move(event));
          continue;
        }
        happen(event, out);
      }
    }
    if (out.empty()) now = until;
    return {};
  }

 private:
  struct Event {
    Instant when;
    std::uint64_t order;
    enum Kind { AtTransit, TransitDone, AtNode, NodeDone, AtSender } kind;
    std::size_t target;
    Packet packet;
    bool operator>(const Event& o) const {
      return when != o.when ? when > o.when : order > o.order;
    }
  };

  void take_place(std::uint64_t tid, Duration reply_within) {
    std::erase_if(awaited, [this](const auto& one) { return one.second <= now; });
    if (awaited.size() >= places) ++kept_back;
    awaited[tid] = now + reply_within;
  }

  bool is_lost() {
    const bool it_is = std::uniform_real_distribution<>(0, 1)(random) < loss;
    if (it_is) ++lost;
    return it_is;
  }

  void enter(Server& server, const Event& event, Event::Kind done) {
    ++server.arrived;
    if (server.queued >= server.depth) {
      ++server.dropped;
      return;
    }
    server.queued_most = std::max(server.queued_most, ++server.queued);
    server.busy_until = std::max(server.busy_until, event.when) + server.service;
    events.push({server.busy_until, ++order, done, event.target, event.packet});
  }

  void happen(const Event& event, std::vector<Received>& out) {
    Server& node = nodes[event.target];
    switch (event.kind) {
      case Event::AtTransit:
        return enter(transit, event, Event::TransitDone);
      case Event::TransitDone:
        --transit.queued;
        events.push({event.when + latency, ++order, Event::AtNode, event.target, event.packet});
        return;
      case Event::AtNode:
        if (node.silent ||
            (node.deaf_attribute != 0 && event.packet.mad.attribute_id() == node.deaf_attribute)) {
          return;
        }
        return enter(node, event, Event::NodeDone);
      case Event::NodeDone: {
        --node.queued;
        ++node.served;
        if (is_lost()) return;
        Event reply = event;
        reply.kind = Event::AtSender;
        reply.when = event.when + latency;
        reply.order = ++order;
        reply.packet.mad.set<&wire::MadHeader::method>(wire::Method::GetResp);
        events.push(std::move(reply));
        return;
      }
      case Event::AtSender: {
        if (places != 0 && awaited.erase(event.packet.mad.tid().value) == 0) return;
        Received received;
        received.agent = 0;
        received.packet = event.packet;
        out.push_back(std::move(received));
        return;
      }
    }
  }

  std::mt19937_64 random;
  std::uint64_t order{0};
  std::map<std::uint64_t, Instant> awaited;  // by TID, until when
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
};

}  // namespace ib::mad::test
