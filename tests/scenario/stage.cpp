// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/scenario/stage.h"

#include <fmt/format.h>

#include <algorithm>

#include "libdiag/base/text.h"
#include "libdiag/fabric/generate.h"
#include "libdiag/mad/describe.h"
#include "libdiag/query/sa_client.h"
#include "libdiag/query/smp_client.h"
#include "libdiag/tables/verify.h"
#include "libdiag/wire/words.h"
#include "tools/ibtracer/report.h"
#include "tools/ibtracer/trace.h"

namespace scenario {

using ib::Duration;
using ib::Lid;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::sim::Behaviour;
using ib::wire::Method;
using ib::wire::PortState;
namespace attr = ib::wire::attr;

namespace {

Duration time_of(const std::string& word) {
  const auto ms = word.ends_with("ms");
  const std::string digits = word.substr(0, word.size() - (ms ? 2 : 1));
  if (!ms && !word.ends_with("s")) throw Complaint("expected a time like 3s or 50ms, got " + word);
  const Duration unit = ms ? Duration(std::chrono::milliseconds(1)) : std::chrono::seconds(1);
  return unit * number_of(digits, 1'000'000);
}

template <class T>
T or_complain(ib::Result<T> result) {
  if (!result) throw Complaint(result.error().message);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

std::string join_lines(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

const std::string& at(const std::vector<std::string>& words, std::size_t i) {
  if (i >= words.size()) throw Complaint(words[0] + ": a word is missing");
  return words[i];
}

}  // namespace

Stage::~Stage() { seats_.clear(); }  // before the world

std::string Stage::run(const std::string& command, const std::vector<std::string>& body) {
  try {
    const std::string out = act(words_of(command), body);
    return out.empty() ? "ok\n" : out;
  } catch (const Complaint& complaint) {
    return std::string("error: ") + complaint.what() + "\n";
  }
}

std::string Stage::act(const Words& w, const std::vector<std::string>& body) {
  const std::string& verb = w.at(0);
  if (verb == "fabric") return make_fabric(w, body), "";
  if (verb == "twin") return twin(at(w, 1), at(w, 2)), "";
  if (verb == "lid") return give_lid(at(w, 1), at(w, 2)), "";
  if (verb == "sm") return start_manager(w), "";
  if (verb == "on") return turn_to(at(w, 1)), "";
  if (verb == "kill") return manager(), seat().manager.reset(), "";
  if (verb == "forget") return seat().kept = {}, "";
  if (verb == "sweep") return manager().sweep_now(), "";
  if (verb == "run") return let_run(w);
  if (verb == "link") return cable(w), "";
  if (verb == "flap") return flap(w), "";
  if (verb == "reboot")
    return or_complain(
               world().model().reboot(world().now(), find(world().model().topology(), at(w, 1)))),
           "";
  if (verb == "silent") return behave(w, Behaviour::Silent), "";
  if (verb == "garbage") return behave(w, Behaviour::Garbage), "";
  if (verb == "normal") return behave(w, Behaviour::Normal), "";
  if (verb == "loss") {
    auto faults = world().model().faults();
    faults.loss_percent = number_of(at(w, 1), 100);
    return world().model().set_faults(faults), "";
  }
  if (verb == "relabel") return relabel(at(w, 1), at(w, 2)), "";
  if (verb == "join") return join(at(w, 1), at(w, 2));
  if (verb == "lids") return lids();
  if (verb == "states") return states();
  if (verb == "reach") return reach();
  if (verb == "sent") return sent(false);
  if (verb == "sets") return sent(true);
  if (verb == "order") return order();
  if (verb == "loads") return loads();
  if (verb == "report") return report();
  if (verb == "managers") return managers();
  if (verb == "trace") return trace(at(w, 1), at(w, 2));
  if (verb == "tree") return tree(at(w, 1));
  if (verb == "tops") return tops();
  throw Complaint("no such command: " + verb);
}

// ---- before the curtain rises

void Stage::make_fabric(const Words& words, const std::vector<std::string>& body) {
  if (words.size() == 1) {
    fabric_ = draw(body);
    return;
  }
  auto made = ib::fabric::generate(std::span(words).subspan(1));
  fabric_ = or_complain(std::move(made));
}

/// `duplicate` gets the GUIDs of `original`, as a cloned firmware image has them.
void Stage::twin(const std::string& duplicate, const std::string& original) {
  if (!fabric_) throw Complaint("twin comes before the subnet manager");
  auto& f = *fabric_;
  const NodeIndex n = find(f, duplicate), o = find(f, original);
  f.node(n).guid = f.node(o).guid;
  const unsigned ports = std::min(f.node(n).num_ports, f.node(o).num_ports);
  for (unsigned p = 0; p <= ports; ++p) f.port(n, p).guid = f.port(o, p).guid;
  f.reindex();
}

/// The device comes with this LID, as when another subnet manager has been here.
void Stage::give_lid(const std::string& name, const std::string& lid) {
  if (!fabric_) throw Complaint("lid comes before the subnet manager");
  const NodeIndex n = find(*fabric_, name);
  const PortRef p = fabric_->node(n).is_switch() ? PortRef{n, 0} : host_port(*fabric_, name);
  fabric_->port(p).lid = Lid{static_cast<std::uint16_t>(number_of(lid, 0xBFFF))};
  model_options_.keep_lids = true;
}

ib::sim::World& Stage::world() {
  if (world_) return *world_;
  if (!fabric_) throw Complaint("there is no fabric yet");
  world_ = std::make_unique<ib::sim::World>(*std::move(fabric_), model_options_);
  fabric_.reset();
  world_->model().set_tap(
      [](void* stage, ib::Instant, Lid, Lid, bool, const ib::mad::Packet& packet) {
        static_cast<Stage*>(stage)->watch(packet);
      },
      this);
  return *world_;
}

Stage::Seat& Stage::seat() {
  const auto at = seats_.find(host_);
  if (at == seats_.end()) throw Complaint("no subnet manager was started");
  return at->second;
}

Manager& Stage::manager() {
  if (!seats_.contains(host_) || !seat().manager) throw Complaint("no subnet manager runs");
  return *seat().manager;
}

// ---- what happens

///   sm [at HOST] [engine NAME] [lmc N] [sweep TIME] [priority N] [-r]
void Stage::start_manager(const Words& w) {
  sm::core::Options options;
  // The default engine follows the fabric; what is written here follows the tables of one.
  options.plan.choice.engines = {"minhop"};
  // Nor are questions shown that have nothing to do with what happens to the subnet.
  options.read_tables_after.reset();
  std::string host;
  for (std::size_t i = 1; i < w.size(); ++i) {
    if (w[i] == "at") {
      host = at(w, ++i);
    } else if (w[i] == "engine") {
      options.plan.choice.engines = {at(w, ++i)};
    } else if (w[i] == "lmc") {
      options.plan.lmc = static_cast<std::uint8_t>(number_of(at(w, ++i), 7));
    } else if (w[i] == "sweep") {
      options.sweep_interval = time_of(at(w, ++i));
    } else if (w[i] == "priority") {
      options.mastership.priority = static_cast<std::uint8_t>(number_of(at(w, ++i), 15));
    } else if (w[i] == "-r") {
      options.plan.reassign_lids = true;
    } else {
      throw Complaint("sm: what is " + w[i] + "?");
    }
  }
  const auto& f = world().model().topology();
  if (host.empty())
    for (NodeIndex n = 0; n < f.nodes().size() && host.empty(); ++n)
      if (!f.node(n).is_switch()) host = short_name(f, n);
  const PortRef port = host_port(f, host);
  if (const auto old = seats_.find(host); old != seats_.end() && old->second.manager)
    throw Complaint("a subnet manager runs there already");
  options.mastership.port_guid = f.port(port).guid;  // as the daemon knows it
  host_ = host;
  Seat& seat = seats_[host];
  seat.manager = std::make_unique<Manager>(world(), port, options, seat.kept);
}

/// What follows is about the subnet manager of `host`.
void Stage::turn_to(const std::string& host) {
  if (!seats_.contains(host)) throw Complaint("no subnet manager was started on " + host);
  host_ = host;
}

/// `run TIME`, or `run until report`: until the manager has said one more time how the subnet is.
/// `no-traps` behind it leaves out the log's lines about traps.
std::string Stage::let_run(const Words& w) {
  if (at(w, 1) == "until") {
    const std::size_t before = manager().reports();
    if (!world().run_until([&] { return manager().reports() > before; }, std::chrono::minutes(5)))
      throw Complaint("nothing was reported in five minutes");
  } else {
    world().run_for(time_of(w[1]));
  }
  // Of several in the order of time, each with the name of its host.
  std::vector<std::pair<ib::Instant, std::string>> said;
  for (auto& [host, seat] : seats_) {
    if (!seat.manager) continue;
    for (auto& line : seat.manager->take_lines())
      said.emplace_back(line.at, (seats_.size() > 1 ? host + " " : "") + line.text);
  }
  std::ranges::stable_sort(said, {}, &std::pair<ib::Instant, std::string>::first);
  Words lines;
  for (const auto& [time, text] : said)
    lines.push_back(fmt::format("{:.2f}s {}", static_cast<double>(time.ns) / 1e9, text));
  if (w.back() == "no-traps")
    std::erase_if(lines, [](const auto& line) { return line.find(" trap: ") != line.npos; });
  return join_lines(lines);
}

PortRef Stage::port(const std::string& node, const std::string& number) {
  const auto& f = world().model().topology();
  const NodeIndex n = find(f, node);
  return {n, static_cast<std::uint8_t>(number_of(number, f.node(n).num_ports))};
}

void Stage::cable(const Words& w) {
  const PortRef p = port(at(w, 2), at(w, 3));
  auto& model = world().model();
  or_complain(at(w, 1) == "down" ? model.link_down(world().now(), p)
                                 : model.link_up(world().now(), p));
}

///   flap NODE PORT TIMES PAUSE: the cable goes down and up again, TIMES times
void Stage::flap(const Words& w) {
  const PortRef p = port(at(w, 1), at(w, 2));
  const Duration pause = time_of(at(w, 4));
  for (unsigned i = number_of(at(w, 3), 1000); i > 0; --i) {
    or_complain(world().model().link_down(world().now(), p));
    world().run_for(pause);
    or_complain(world().model().link_up(world().now(), p));
    world().run_for(pause);
  }
}

void Stage::behave(const Words& w, Behaviour behaviour) {
  at(w, 1);
  for (std::size_t i = 1; i < w.size(); ++i)
    world().model().set_behaviour(find(world().model().topology(), w[i]), behaviour);
}

std::unique_ptr<ib::mad::Session> Stage::session_at(const std::string& host) {
  ports_.push_back(world().open(host_port(world().model().topology(), host)));
  return std::make_unique<ib::mad::Session>(*ports_.back(), ib::mad::TransactorOptions{},
                                            world().clock());
}

std::string Stage::join(const std::string& host, const std::string& mgid) {
  const auto session = session_at(host);
  const auto facts = or_complain(ports_.back()->facts());
  ib::query::SaClient sa(*session, or_complain(ib::query::sa_address(facts)));
  ib::wire::McMemberRecord record;
  if (!ib::parse_gid(mgid, record.mgid)) throw Complaint("not a GID: " + mgid);
  record.port_gid = ib::Gid::from(facts.gid_prefix, facts.port_guid);
  record.join_state = sm::sa::join_state::kFull;
  using namespace ib::query::component;
  const auto answer = or_complain(sa.join(record, kMcMgid | kMcPortGid | kMcJoinState));
  return fmt::format("mlid 0x{:x}\n", answer.mlid.value);
}

/// Somebody else writes this LID into the port of `host`.
void Stage::relabel(const std::string& host, const std::string& lid) {
  const auto& model = world().model();
  const PortRef p = host_port(model.topology(), host);
  const auto session = session_at(short_name(model.topology(), manager().at().node));
  const Lid now = model.port_info(p).lid;
  auto info = or_complain(ib::query::SmpClient(*session).port_info(now, p.port));
  info.lid = Lid{static_cast<std::uint16_t>(number_of(lid, 0xBFFF))};
  info.port_state = PortState::NoChange;
  info.port_physical_state = ib::wire::PhysState::NoChange;
  auto set = ib::mad::smp_request(0, 0, now, Method::Set, attr::kPortInfo, p.port);
  ib::wire::set_body(set.mad, info);
  or_complain(session->call(std::move(set)));
}

// ---- what can be seen

/// Of every end port, as the device has it.
std::string Stage::lids() {
  const auto& model = world().model();
  const auto& f = model.topology();
  std::string out;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    for (unsigned i = 0; i <= f.node(n).num_ports; ++i) {
      const PortRef p{n, static_cast<std::uint8_t>(i)};
      if (f.node(n).is_switch() ? i != 0 : !f.port(p).peer) continue;
      const auto info = model.port_info(p);
      out += fmt::format("{} {}", short_name(f, n), info.lid.value);
      if (info.lmc != 0) out += fmt::format("-{}", info.lid.value + (1U << info.lmc) - 1);
      out += "\n";
    }
  }
  return out;
}

/// Ports with a cable that are not ACTIVE.
std::string Stage::states() {
  const auto& model = world().model();
  const auto& f = model.topology();
  std::string out;
  std::size_t active = 0;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    for (unsigned i = 1; i <= f.node(n).num_ports; ++i) {
      const PortRef p{n, static_cast<std::uint8_t>(i)};
      if (!f.port(p).peer) continue;
      const PortState state = model.port_info(p).port_state;
      if (state == PortState::Active) {
        ++active;
      } else {
        out += fmt::format("{} port {} {}\n", short_name(f, n), i, ib::wire::state_word(state));
      }
    }
  }
  return out + fmt::format("{} ports ACTIVE\n", active);
}

/// Follows the tables in the switches from `from`; empty when `lid` is reached at `target`.
std::string Stage::walk(NodeIndex from, Lid lid, NodeIndex target) {
  const auto& model = world().model();
  const auto& f = model.topology();
  NodeIndex here = from;
  for (std::size_t hops = 0; hops <= f.nodes().size(); ++hops) {
    if (here == target) return "";
    const std::uint8_t out = f.node(here).is_switch() ? model.lft(here, lid) : 255;
    if (out == 0 || out > f.node(here).num_ports) return "ends at " + short_name(f, here);
    const PortRef cable{here, out};
    if (!f.port(cable).peer || model.port_info(cable).port_state != PortState::Active)
      return fmt::format("ends at {} port {}", short_name(f, here), out);
    here = f.port(cable).peer.node;
  }
  return "goes round in circles";
}

/// Every route there should be, from every switch to every LID that was given.
std::string Stage::reach() {
  const auto& f = world().model().topology();
  std::size_t good = 0;
  std::string out;
  for (const sm::store::LidClaim& claim : seat().kept.lids) {
    const auto target = f.find_port_guid(claim.port_guid);
    if (!target) continue;
    for (NodeIndex s = 0; s < f.nodes().size(); ++s) {
      if (!f.node(s).is_switch()) continue;
      for (unsigned i = 0; i < 1U << claim.lmc; ++i) {
        const Lid lid{static_cast<std::uint16_t>(claim.lid.value + i)};
        const std::string end = walk(s, lid, target->node);
        if (end.empty()) {
          ++good;
        } else {
          out += fmt::format("{} to {} (LID {}) {}\n", short_name(f, s),
                             short_name(f, target->node), lid.value, end);
        }
      }
    }
  }
  return out + fmt::format("{} routes lead to their LID\n", good);
}

/// Of CA-to-CA routes on the most loaded link.
std::string Stage::loads() {
  const auto snapshot = manager().snapshot();
  if (!snapshot || snapshot->routing->engine.empty()) throw Complaint("nothing is routed");
  const auto& routing = *snapshot->routing;
  const auto& fabric = snapshot->fabric();
  const auto fresh = or_complain(
      ib::route::find_engine(routing.engine)->compute({&fabric, &routing.graph, {}, nullptr, 8}));
  const auto held = ib::tables::verify(fabric, routing.graph, routing.lfts).load_max;
  const auto least = ib::tables::verify(fabric, routing.graph, fresh.lfts).load_max;
  return fmt::format("{}, {:.2f} times the {} of fresh routes\n", held,
                     static_cast<double>(held) / static_cast<double>(least), least);
}

void Stage::watch(const ib::mad::Packet& packet) {
  const Method method = packet.mad.method();
  if (ib::wire::is_response(method)) return;
  const std::string what = ib::mad::describe(packet.mad);
  ++sent_[what];
  if (method != Method::Set || !ib::wire::is_smp(packet.mad.mgmt_class())) return;
  std::string step = what;
  if (packet.mad.attribute_id() == attr::kPortInfo) {
    const auto state = ib::wire::body<ib::wire::PortInfo>(packet.mad).port_state;
    if (state != PortState::NoChange) step += std::string(" ").append(ib::wire::state_word(state));
  }
  if (order_.empty() || order_.back().what != step) order_.push_back({step, 0});
  ++order_.back().times;
}

/// Requests that left anybody since the last time this was asked, repetitions included.
std::string Stage::sent(bool sets_only) {
  std::string out;
  for (const auto& [what, times] : sent_)
    if (!sets_only || what.find("Set(") != std::string::npos)
      out += fmt::format("{} {}\n", times, what);
  sent_.clear();
  order_.clear();
  return out.empty() ? "nothing\n" : out;
}

/// The Sets since then in the order they left, equal ones counted.
std::string Stage::order() {
  std::string out;
  for (const Step& step : order_) out += fmt::format("{} {}\n", step.times, step.what);
  order_.clear();
  sent_.clear();
  return out.empty() ? "nothing\n" : out;
}

std::string Stage::report() {
  const auto& r = manager().last();
  const std::string headline = r.headline();
  return headline.substr(0, headline.find(" mads=")) +
         fmt::format("\nexit status {}, {} SubnSets\n", r.exit_status(), r.sets) +
         join_lines(r.lines);
}

/// What every subnet manager is.
std::string Stage::managers() {
  std::string out;
  for (const auto& [host, seat] : seats_)
    out += fmt::format("{} {}\n", host, seat.manager ? seat.manager->state() : "does not run");
  return out;
}

/// ibtracer on host `from`.
std::string Stage::trace(const std::string& from, const std::string& to) {
  const auto& model = world().model();
  const Lid lid = model.port_info(host_port(model.topology(), to)).lid;
  const auto session = session_at(from);
  const auto report = or_complain(ibtracer::trace(*session, lid, {}));
  return ibtracer::text_report(report, true);
}

/// Ports of every switch that forward `mlid`.
std::string Stage::tree(const std::string& mlid) {
  const unsigned lid = number_of(mlid, 0xFFFE);
  if (lid < 0xC000) throw Complaint("not a multicast LID: " + mlid);
  const auto& model = world().model();
  const auto& f = model.topology();
  const auto session = session_at(short_name(f, manager().at().node));
  ib::query::SmpClient client(*session);
  std::string out;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    if (!f.node(n).is_switch()) continue;
    std::string ports;
    for (unsigned position = 0; position * 16U <= f.node(n).num_ports; ++position) {
      const auto answer =
          or_complain(client.get(model.port_info({n, 0}).lid, attr::kMulticastForwarding,
                                 (position << 28U) | ((lid - 0xC000) / 32)));
      const auto table = ib::wire::body<ib::wire::MulticastForwardingTable>(answer.mad);
      for (unsigned bit = 0; bit < 16; ++bit)
        if ((table.port_mask[lid % 32] >> bit & 1U) != 0)
          ports += fmt::format(" {}", position * 16 + bit);
    }
    if (!ports.empty()) out += short_name(f, n) + ":" + ports + "\n";
  }
  return out.empty() ? "no switch forwards it\n" : out;
}

/// MulticastFDBTop of every switch: the highest multicast LID that it looks up.
std::string Stage::tops() {
  const auto& model = world().model();
  const auto& f = model.topology();
  const auto session = session_at(short_name(f, manager().at().node));
  ib::query::SmpClient client(*session);
  std::string out;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    if (!f.node(n).is_switch()) continue;
    const auto answer = or_complain(client.get(model.port_info({n, 0}).lid, attr::kSwitchInfo, 0));
    const auto info = ib::wire::body<ib::wire::SwitchInfo>(answer.mad);
    out += fmt::format("{}: 0x{:x}\n", short_name(f, n), info.multicast_fdb_top);
  }
  return out;
}

}  // namespace scenario
