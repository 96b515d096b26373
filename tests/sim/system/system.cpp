// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/sim/system/system.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "libdiag/base/parallel.h"
#include "tests/sim/system/kinds.h"

namespace soak {

using namespace std::chrono_literals;

namespace {

constexpr Duration kSettlesWithin = 5min, kAskedAgainWithin = 70s, kQuietFor = 25s;
constexpr std::size_t kFindingsMost = 20;
constexpr std::int64_t kWallClock = 1'700'000'000'000'000'000;  // ns since 1970 at the beginning

}  // namespace

System::System(Script script, RunOptions options)
    : script_(std::move(script)),
      options_(std::move(options)),
      world_(script_.fabric, script_.model),
      checks_(make_checks()) {
  const auto& fabric = model().topology();
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    if (!fabric.node(n).is_switch() && fabric.port(n, 1).peer) hosts_.push_back({n, 1});
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n)
    if (script_.has_state_tables && fabric.node(n).is_switch())
      (void)model().set_trait(now(), n, std::nullopt, "port_state_table", "1");
  for (const NodeIndex n : script_.twins) excuse(n);
  if (script_.has_partitions) partitions_.change(fabric, hosts_, script_.model.seed);
  seat_managers();
  seat_clients();
  model().set_watch(on_device_set, this);
}

System::~System() {
  model().set_watch(nullptr, nullptr);
  for (const auto& seat : seats_) seat->manager.reset();
}

void System::seat_managers() {
  for (const SeatDraw& drawn : script_.seats) {
    const auto at_picked = [&](std::size_t i) { return hosts_[(drawn.host + i) % hosts_.size()]; };
    std::size_t next = 0;
    while (next < hosts_.size() &&
           (is_seat(at_picked(next).node) || is_excused(at_picked(next).node)))
      ++next;
    if (next == hosts_.size()) break;
    const PortRef at = at_picked(next);
    auto seat = std::make_unique<Seat>();
    seat->number = static_cast<unsigned>(seats_.size());
    seat->at = at;
    seat->options = script_.managers;
    seat->options.mastership.port_guid = model().topology().port(at).guid;
    seat->options.mastership.priority = drawn.priority;
    seat->options.shares_store = script_.shares_store && !drawn.old_fashioned;
    if (drawn.old_fashioned) {
      seat->options.mastership.poll = 10s;
      seat->options.mastership.unanswered_most = 4;
    }
    const auto shared =
        std::ranges::find_if(disks_, [](const auto& disk) { return disk->is_shared; });
    if (seat->options.shares_store && shared != disks_.end()) {
      seat->disk = shared->get();
    } else {
      seat->disk = disks_.emplace_back(std::make_unique<Disk>()).get();
      seat->disk->is_shared = seat->options.shares_store;
    }
    seats_.push_back(std::move(seat));
  }
  if (seats_.empty()) throw std::logic_error("no host for a subnet manager");
}

void System::seat_clients() {
  std::vector<PortRef> of_clients;
  for (const PortRef at : hosts_) {
    if (is_seat(at.node) || is_excused(at.node)) continue;
    (of_clients.size() < script_.clients ? of_clients : idle_hosts_).push_back(at);
  }
  clients_ = std::make_unique<Clients>(world_, of_clients);
  // All want to be in the group of all.
  for (std::size_t i = 0; i < of_clients.size(); ++i)
    clients_->want(i, Wanted::Membership, 0, true);
}

bool System::is_seat(NodeIndex node) const {
  return std::ranges::any_of(seats_, [&](const auto& seat) { return seat->at.node == node; });
}

// ---- what happens

void System::trace(const std::string& line) {
  if (!options_.trace) return;
  options_.trace(fmt::format("{:10.6f} {}", static_cast<double>(now().ns) / 1e9, line));
}

std::string System::name(PortRef port) {
  return fmt::format("{} port {}", model().topology().node(port.node).description, port.port);
}

void System::report(std::string invariant, std::string what) {
  if (findings_.size() >= kFindingsMost) return;
  trace(fmt::format("{} IS BROKEN: {}", invariant, what));
  findings_.push_back({std::move(invariant), std::move(what), now()});
}

void System::note_event() {
  last_event_ = now();
  wires_.reset();
  tell_checks([&](Check& check) { check.on_event(*this); });
}

void System::later(Duration pause, std::function<void()> what) {
  later_.emplace(now() + pause, std::move(what));
}

void System::start(Seat& seat) {
  if (seat.runs()) return;
  trace(fmt::format("subnet manager {} starts at {}", seat.number, name(seat.at)));
  if (partitions_.are_set()) seat.options.plan.partitions = partitions_.policy();
  sm::sa::Options sa;
  sa.wall_clock = sm::sa::WallClock(kWallClock + now().ns + wall_jump_.count(), now());
  seat.hangs = false;
  seat.manager = std::make_unique<Manager>(world_, seat, overseer(), sa);
  note_event();
}

void System::kill(Seat& seat) {
  if (!seat.runs()) return;
  trace(fmt::format("subnet manager {} dies", seat.number));
  if (seat.hangs) world_.add(*seat.manager);  // which it takes back
  seat.manager.reset();
  seat.hangs = false;
  fuses_.erase(&seat);
  note_event();
}

void System::kill_after(Seat& seat, std::uint64_t sends, Duration down) {
  fuses_[&seat] = {sends, down};
}

void System::send_from(PortRef at, bool smi, ib::mad::Packet packet) {
  packet.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{0x77000000 + ++tid_});
  model().send(now(), at, smi, packet);
}

NodeIndex System::target_of(const Seat& seat, const sm::core::Outgoing& out) {
  const auto& mad = out.packet.mad;
  if (!mad.is_directed()) {
    for (const PortRef at : wires().end_ports())
      if (model().port_info(at).lid == out.packet.address.lid) return at.node;
    return ib::fabric::kNoNode;
  }
  const auto path = mad.get<&ib::wire::SmpHeader::initial_path>();
  PortRef here = seat.at;
  for (std::size_t hop = 1; hop <= mad.get<&ib::wire::SmpHeader::hop_count>(); ++hop) {
    if (path[hop] == 0 || path[hop] > wires().ports(here.node)) return ib::fabric::kNoNode;
    here = wires().end({here.node, path[hop]}).peer;
    if (!here) return ib::fabric::kNoNode;
  }
  return here.node;
}

// ---- what checks ask

const Wires& System::wires() {
  if (!wires_ || wires_at_ != now()) wires_ = std::make_unique<Wires>(model());
  wires_at_ = now();
  return *wires_;
}

std::vector<Seat*> System::masters() {
  std::vector<Seat*> out;
  for (const auto& seat : seats_)
    if (seat->is_master() && !seat->hangs && wires().end(seat->at).peer) out.push_back(seat.get());
  return out;
}

Seat* System::master_of(NodeIndex node) {
  Seat* found = nullptr;
  for (Seat* seat : masters()) {
    if (wires().component(seat->at.node) != wires().component(node)) continue;
    if (found != nullptr) return nullptr;
    found = seat;
  }
  return found;
}

// ---- what subnet managers do

System::Fate System::on_send(Seat& seat, const sm::core::Outgoing& out) {
  tell_checks([&](Check& check) { check.on_send(*this, seat, out); });
  if (const auto fuse = fuses_.find(&seat); fuse != fuses_.end() && fuse->second.first-- == 0) {
    dying_.emplace_back(&seat, fuse->second.second);
    fuses_.erase(fuse);
  }
  return options_.mutant != nullptr ? options_.mutant->on_send(*this, seat, out) : Fate::Done;
}

void System::on_report(Seat& seat, sm::core::Report& report) {
  if (options_.mutant != nullptr) options_.mutant->on_report(*this, seat, report);
  if (traces()) {
    trace(fmt::format("[{}] {}", seat.number, report.headline()));
    for (const std::string& line : report.lines) trace(fmt::format("[{}]   {}", seat.number, line));
  }
  tell_checks([&](Check& check) { check.on_report(*this, seat, report); });
}

void System::on_line(Seat& seat, const ib::LogEvent& event) {
  if (traces()) trace(fmt::format("[{}] {}: {}", seat.number, event.topic, event.message));
  tell_checks([&](Check& check) { check.on_line(*this, seat, event); });
}

void System::on_commit(Seat& seat, sm::store::Batch& batch) {
  if (options_.mutant != nullptr) options_.mutant->on_commit(*this, seat, batch);
}

bool System::on_sa_packet(Seat& seat, ib::mad::Packet& packet) {
  return options_.mutant == nullptr || options_.mutant->on_sa_packet(*this, seat, packet);
}

void System::on_device_set(void* self, Instant, PortRef at, const ib::wire::Mad& answer) {
  System& system = *static_cast<System*>(self);
  if (answer.attribute_id() == ib::wire::attr::kPortInfo) {
    const auto info = ib::wire::body<ib::wire::PortInfo>(answer);
    const auto port = static_cast<std::uint8_t>(answer.attribute_modifier() & 0xFF);
    system.clients_->on_port_set({at.node, port == 0 ? at.port : port}, info);
  }
  system.wires_.reset();
  system.tell_checks([&](Check& check) { check.on_set(system, at, answer); });
}

// ---- the play

void System::run_until(Instant end) {
  const auto step = [this] {
    tell_checks([&](Check& check) { check.on_step(*this); });
    return !dying_.empty();
  };
  for (;;) {
    const Instant next = later_.empty() ? end : std::min(end, later_.begin()->first);
    if (world_.run_until(step, std::max(next - now(), Duration{0}))) {
      for (const auto& [seat, down] : std::exchange(dying_, {})) {
        kill(*seat);
        later(down, [this, s = seat] { start(*s); });
      }
      continue;
    }
    if (!later_.empty() && later_.begin()->first <= now()) {
      later_.extract(later_.begin()).mapped()();
    } else if (now() >= end) {
      return;
    }
  }
}

void System::play() {
  if (options_.mutant != nullptr) options_.mutant->prepare(*this);
  start(*seats_.front());
  for (const Item& item : script_.items) {
    if (item.kind->happen == nullptr) continue;
    run_until(Instant{0} + item.at);
    trace(fmt::format("item {}: {}", item.number, item.kind->name));
    item.kind->happen(*this, item);
    note_event();
  }
  // What they have begun ends.
  while (!later_.empty()) run_until(later_.rbegin()->first);
}

void System::end_faults() {
  model().set_faults(ib::sim::Faults{});
  const auto& fabric = model().topology();
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    model().set_behaviour(n, ib::sim::Behaviour::Normal);
    for (unsigned p = 1; p <= fabric.node(n).num_ports; ++p)
      model().set_link_faults({n, static_cast<std::uint8_t>(p)}, ib::sim::Faults{});
    for (const char* lie : {"refuse", "keep", "unanswered"})
      for (const auto& trait : model().traits(n))
        if (trait.name == lie) (void)model().set_trait(now(), n, std::nullopt, lie, "none");
  }
  for (const auto& disk : disks_) disk->is_full = false;
  for (const auto& seat : seats_)
    if (std::exchange(seat->hangs, false)) world_.add(*seat->manager);
  fuses_.clear();
  // Somebody manages something in the end.
  Seat& first = *seats_.front();
  (void)model().bring_back(now(), first.at.node);
  (void)model().link_up(now(), first.at);
  start(first);
  note_event();
  faults_over_ = true;
  for (const auto& seat : seats_)
    looks_before_[seat.get()] = seat->runs() ? seat->manager->counters().light_sweeps : 0;
  trace("all faults are over");
}

std::string System::why_not_settled() {
  std::set<unsigned> seen;
  for (const auto& seat : seats_) {
    if (!seat->runs() || !wires().end(seat->at).peer) continue;
    if (!seen.insert(wires().component(seat->at.node)).second) continue;
    const Seat* master = master_of(seat->at.node);
    if (master == nullptr)
      return fmt::format("subnet manager {} is {}, and there is not one master", seat->number,
                         seat->manager->state());
    const Manager& m = *master->manager;
    if (!m.is_idle()) return "the master is at work";
    if (m.reports() == 0) return "the master has not reported";
    if (!m.last().up()) return m.last().headline();
    if (m.last().held_down > 0) return "links are held down";
    if (m.awaits_clients()) return "clients were asked to register again, and have time left";
    // They are asked again after a minute, and then less and less often.
    const auto& snapshot = m.core().snapshot();
    const bool refused = snapshot != nullptr && !snapshot->refused_tables.empty();
    const Instant since = std::max(last_event_, m.core().mastership().status().since);
    if (refused && now() - since < kAskedAgainWithin) return "tables are refused";
    if (m.counters().light_sweeps < looks_before_[master] + 2) return "it has not looked again";
  }
  for (const Clients::Client& client : clients_->all())
    if (master_of(client.at.node) != nullptr && !clients_->is_content(client))
      return fmt::format("the client at {} has not got {}", name(client.at),
                         Clients::what_is_missing(client));
  return "";
}

bool System::looks_settled() { return why_not_settled().empty(); }

bool System::settle() {
  const Instant end = now() + kSettlesWithin;
  bool looked_settled = false;
  while (now() < end) {
    run_until(now() + 500ms);
    // Links that were taken down are swept again in a moment, with nothing to be seen meanwhile.
    if (std::exchange(looked_settled, looks_settled()) && looked_settled) return true;
    if (has_findings()) return false;
  }
  report("settles", why_not_settled());
  // What else is broken may tell why.
  if (traces()) tell_checks([&](Check& check) { check.on_settled(*this); });
  return false;
}

void System::watch_quietly() {
  settled_ = true;
  partitions_.forget_old();
  trace("it is settled");
  tell_checks([&](Check& check) { check.on_settled(*this); });
  run_until(now() + kQuietFor);
  tell_checks([&](Check& check) { check.on_end(*this); });
}

std::vector<Finding> System::run() {
  trace(fmt::format("{}; {} subnet managers, {} clients; engine {}", script_.topology,
                    seats_.size(), clients_->all().size(),
                    script_.engine.empty() ? "by default" : script_.engine));
  play();
  if (has_findings()) return findings_;
  end_faults();
  if (settle()) watch_quietly();
  return findings_;
}

std::vector<Finding> run_case(const Case& c, const RunOptions& options) {
  const ib::SerialScope alone;  // loops over so few nodes end before a helper is awake
  System system(draw(c), options);
  return system.run();
}

}  // namespace soak
