// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/sim/host_port.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace ib::sim {
namespace {

constexpr std::uint8_t kRmppVersion = 1;
constexpr std::uint64_t kIdleStepsMax = 10'000'000;

std::uint32_t milliseconds(Duration d) {
  if (d.count() <= 0) return 0;
  return static_cast<std::uint32_t>((d.count() + 999'999) / 1'000'000);
}

std::string describe(const fabric::Fabric& fabric, PortRef at) {
  return fabric.node(at.node).description + " port " + std::to_string(at.port);
}

}  // namespace

// ---- HostPort

HostPort::HostPort(World& world, PortRef at, HostKernel& kernel)
    : world_(world), at_(at), kernel_(kernel), file_(kernel.open()) {}

HostPort::~HostPort() {
  set_is_sm(false);
  kernel_.close(file_);
}

Result<mad::PortFacts> HostPort::facts() {
  const Model& model = world_.model();
  const wire::PortInfo info = model.port_info(at_);
  mad::PortFacts facts;
  facts.device = "ibfabric0";
  facts.port_num = at_.port;
  facts.node_guid = model.topology().node(at_.node).guid;
  facts.port_guid = model.guids(at_).front();
  facts.gid_prefix = info.gid_prefix;
  facts.lid = info.lid;
  facts.lmc = info.lmc;
  facts.sm_lid = info.master_sm_lid;
  facts.sm_sl = info.master_sm_sl;
  facts.state = info.port_state;
  facts.capability_mask = info.capability_mask;
  facts.p_keys = model.p_keys(at_);
  return facts;
}

Result<mad::AgentId> HostPort::register_agent(const mad::AgentSpec& spec) {
  Registration wanted;
  wanted.qpn = wire::is_smp(spec.mgmt_class) ? 0 : 1;
  wanted.mgmt_class = static_cast<std::uint8_t>(spec.mgmt_class);
  wanted.class_version = spec.class_version;
  wanted.oui = spec.oui.value_or(0);
  for (const wire::Method m : spec.methods) {
    const auto bit = static_cast<unsigned>(m);
    wanted.method_mask[bit / 64 % 2] |= std::uint64_t{1} << (bit % 64);
  }
  if (spec.rmpp != mad::AgentSpec::Rmpp::None) wanted.rmpp_version = kRmppVersion;
  wanted.user_rmpp = spec.rmpp == mad::AgentSpec::Rmpp::User;
  const std::int32_t agent = kernel_.register_agent(file_, wanted);
  if (agent < 0)
    return fail(ErrorKind::Unavailable, "register class " + std::to_string(wanted.mgmt_class) +
                                            " on " + describe(world_.model().topology(), at_) +
                                            ": errno " + std::to_string(-agent));
  return agent;
}

Result<void> HostPort::send(mad::AgentId agent, const mad::Packet& packet, Duration reply_within) {
  UserMad mad;
  mad.agent = agent;
  mad.timeout_ms = milliseconds(reply_within);
  mad.length = static_cast<std::uint32_t>(wire::kMadBytes + packet.more.size());
  mad.packet = packet;
  const int error = kernel_.send(world_.now(), file_, mad);
  if (error < 0)
    return fail(ErrorKind::Io, "send on " + describe(world_.model().topology(), at_) + ": errno " +
                                   std::to_string(-error));
  return {};
}

Result<void> HostPort::receive(std::vector<mad::Received>& out, Duration wait) {
  if (!readable() && wait.count() > 0) {
    assert(!world_.stepping_ && "a Program waits inside of step()");
    world_.run_until([this] { return readable(); }, wait);
  }
  while (const UserMad* next = kernel_.front(file_)) {
    mad::Received received;
    received.agent = next->agent;
    received.timed_out = next->status == kStatusTimedOut;
    received.packet = next->packet;
    out.push_back(std::move(received));
    kernel_.pop(file_);
  }
  return {};
}

bool HostPort::set_is_sm(bool on) {
  if (on) {
    if (!issm_) issm_ = kernel_.issm_open(world_.now());
    return kernel_.issm_granted(*issm_);
  }
  if (issm_) kernel_.issm_close(world_.now(), *issm_);
  issm_.reset();
  return true;
}

// ---- World

World::World(fabric::Fabric topology, const ModelOptions& options)
    : model_(std::move(topology), options) {}
World::~World() = default;

World::Host& World::host(PortRef at) {
  const std::uint64_t key = (std::uint64_t{at.node} << 8) | at.port;
  std::unique_ptr<Host>& slot = hosts_[key];
  if (!slot) slot = std::make_unique<Host>(model_, at);
  return *slot;
}

HostKernel& World::kernel(PortRef at) { return host(at).kernel; }

std::unique_ptr<HostPort> World::open(PortRef at) {
  Host& h = host(at);
  if (std::find(open_hosts_.begin(), open_hosts_.end(), &h) == open_hosts_.end())
    open_hosts_.push_back(&h);
  return std::make_unique<HostPort>(*this, at, h.kernel);
}

void World::add(Program& program) { programs_.push_back(&program); }
void World::remove(Program& program) { std::erase(programs_, &program); }

/// Hands over what has arrived; true when there was anything.
bool World::pump() {
  bool any = false;
  while (const auto* delivery = model_.next_delivery()) {
    host(delivery->port).kernel.on_delivery(now_, *delivery);
    any = true;
  }
  return any;
}

void World::step_programs(bool all) {
  stepping_ = true;
  for (std::size_t i = 0; i < programs_.size(); ++i)
    if (all || programs_[i]->next_deadline() <= now_) programs_[i]->step(now_);
  stepping_ = false;
}

bool World::advance(Instant until) {
  for (;;) {
    Instant due = until;
    for (const Host* h : open_hosts_) due = std::min(due, h->kernel.next_event());
    for (const Program* p : programs_) due = std::min(due, p->next_deadline());
    if (due < now_) due = now_;
    // Hops and agents at work interest nobody: on to the next delivery, or to what is due.
    bool delivered = pump();
    while (!delivered && model_.next_event() <= due) {
      now_ = std::max(now_, model_.next_event());
      model_.advance(now_);
      delivered = pump();
    }
    if (!delivered) {
      now_ = due;
      model_.advance(now_);
    }
    bool timers = false;
    for (Host* h : open_hosts_)
      if (h->kernel.next_event() <= now_) {
        h->kernel.advance(now_);
        timers = true;
      }
    const bool deadline = std::any_of(programs_.begin(), programs_.end(),
                                      [&](const Program* p) { return p->next_deadline() <= now_; });
    if (delivered || timers || deadline) {
      step_programs(delivered || timers);
      return true;
    }
    if (now_ >= until) return false;
  }
}

void World::run_for(Duration duration) {
  run_until([] { return false; }, duration);
}

bool World::run_until(const std::function<bool()>& done, Duration limit) {
  const Instant until = now_ + limit;
  // A program that was just added has something to say before anything happens.
  step_programs(true);
  while (!done()) {
    const Instant before = now_;
    if (!advance(until)) return done();
    // A program whose deadline never moves on would hold the clock for ever.
    idle_steps_ = now_ == before ? idle_steps_ + 1 : 0;
    if (idle_steps_ > kIdleStepsMax) {
      std::fprintf(stderr,
                   "sim::World: time stands still at %lld ns: a program's next_deadline() "
                   "stays in the past\n",
                   static_cast<long long>(now_.ns));
      std::abort();
    }
  }
  return true;
}

}  // namespace ib::sim
