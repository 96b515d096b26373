// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibsm's and ibtracerd's machines as programs of a simulated World.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/responder.h"
#include "libdiag/sim/host_port.h"
#include "libdiag/wire/tracer_attributes.h"
#include "sm/core/subnet_manager.h"

namespace ib::sim::test {

/// The subnet manager on one host; its store is in memory.
class SmProgram final : public Program, private sm::core::Carrier {
 public:
  SmProgram(World& world, PortRef at, sm::core::Options options = {})
      : port_(world.open(at)), sm_(std::make_unique<sm::core::SubnetManager>(options, kept_)) {
    for (const auto c : {wire::MgmtClass::SubnDirected, wire::MgmtClass::SubnLid}) {
      mad::AgentSpec spec;
      spec.mgmt_class = c;
      spec.methods = {wire::Method::Get, wire::Method::Set, wire::Method::Trap,
                      wire::Method::TrapRepress};
      agents_.push_back(*port_->register_agent(spec));
    }
    sm_->start(world.now());
    world.add(*this);
  }

  void step(Instant now) override {
    std::vector<mad::Received> arrived;
    (void)port_->receive(arrived, Duration{0});
    for (const auto& r : arrived)
      if (!r.timed_out) sm_->on_packet(now, r.packet);
    if (sm_->next_deadline() <= now) sm_->on_time(now);
    carry_out(*sm_, now, *this);
  }
  Instant next_deadline() const override { return sm_->next_deadline(); }

  std::size_t reports() const { return reports_.size(); }

 private:
  void commit(sm::store::Batch batch) override { sm::store::apply(batch, kept_); }
  Result<void> send(const sm::core::Outgoing& out) override {
    const bool directed = out.packet.mad.is_directed();
    return port_->send(agents_[directed ? 0 : 1], out.packet, out.reply_within);
  }
  void report(sm::core::Report report) override { reports_.push_back(std::move(report)); }

  std::unique_ptr<HostPort> port_;
  sm::store::Contents kept_;
  std::unique_ptr<sm::core::SubnetManager> sm_;
  std::vector<mad::AgentId> agents_;
  std::vector<sm::core::Report> reports_;
};

/// ibtracerd on one host, which can be told to know less than it does.
class AgentProgram final : public Program {
 public:
  /// Says `lie` for its port where that is not 0, the first `lies` times that it is asked.
  AgentProgram(World& world, PortRef at, std::uint8_t lie = 0, unsigned lies = ~0U)
      : port_(world.open(at)),
        truth_{at.port, true},
        lie_{lie, true},
        lies_left_(lie != 0 ? lies : 0),
        responder_(agent::ResponderOptions{"simulated.example", 1e6, 1e6}) {
    for (const auto c : {wire::MgmtClass::VendorIbtracer, wire::MgmtClass::VendorPing}) {
      mad::AgentSpec spec;
      spec.mgmt_class = c;
      spec.oui = wire::kOpenIbOui;
      spec.methods = {wire::Method::Get};
      (void)*port_->register_agent(spec);
    }
    world.add(*this);
  }

  enum class WithGrh { Answers, DoesNotKnow, Promises };
  /// DoesNotKnow: it does not say that it answers with a GRH, and does not. Promises: it says so.
  void set_with_grh(WithGrh manner) { with_grh_ = manner; }
  /// Requests that came with a GRH, as it was.
  const std::vector<mad::Grh>& grhs() const { return grhs_; }

  void step(Instant now) override {
    std::vector<mad::Received> arrived;
    (void)port_->receive(arrived, Duration{0});
    for (const auto& r : arrived) {
      if (r.packet.address.grh) grhs_.push_back(*r.packet.address.grh);
      const bool lies = lies_left_ > 0 && r.packet.mad.attribute_id() == wire::attr::kSourceRoute;
      if (lies) --lies_left_;
      if (auto reply = responder_.answer(now, lies ? lie_ : truth_, r.packet)) {
        spoil(*reply);
        (void)port_->send(r.agent, *reply, Duration{0});
      }
    }
  }
  Instant next_deadline() const override { return kNever; }

 private:
  void spoil(mad::Packet& reply) const {
    if (with_grh_ == WithGrh::Answers) return;
    reply.address.grh.reset();
    if (with_grh_ == WithGrh::Promises || reply.mad.attribute_id() != wire::attr::kClassPortInfo)
      return;
    auto info = wire::body<wire::ClassPortInfo>(reply.mad);
    info.capability_mask &= static_cast<std::uint16_t>(~wire::kTracerMirrorsGrh);
    wire::set_body(reply.mad, info);
  }

  std::unique_ptr<HostPort> port_;
  WithGrh with_grh_{WithGrh::Answers};
  std::vector<mad::Grh> grhs_;
  agent::Ingress truth_, lie_;
  unsigned lies_left_;
  agent::Responder responder_;
};

}  // namespace ib::sim::test
