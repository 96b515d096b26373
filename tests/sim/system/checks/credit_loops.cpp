// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// I2: what packets between hosts hold and wait for, by the tables of devices and the SLs that
// subnet administration hands out, closes no circle of links and VLs. When it is settled; unless
// ibsm says that it may.
#include <fmt/format.h>

#include <algorithm>

#include "tests/sim/system/checks/check.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

class CreditLoopCheck final : public Check {
 public:
  void on_line(System&, Seat& seat, const ib::LogEvent& event) override {
    if (event.level > ib::LogLevel::Warning) return;
    if (event.message.find("credit loop") != std::string::npos ||
        event.message.find("deadlock") != std::string::npos)
      warned_.insert(&seat);
  }
  void on_settled(System& system) override {
    for (Seat* master : system.masters()) {
      const auto snapshot = master->manager->snapshot();
      if (warned_.contains(master) || !snapshot || !snapshot->routing) continue;
      waits_.assign(system.wires().ends() * kVls, {});
      gather(system, *master, *snapshot);
      if (has_circle())
        system.report("I2", fmt::format("{} has a credit loop", snapshot->routing->engine));
    }
  }

 private:
  static constexpr std::size_t kVls = 16;
  using LinkVl = std::uint32_t;  // of a port, the VL in the lower bits
  static constexpr LinkVl kNone = ~0U;

  void gather(System& system, const Seat& master, const sm::Snapshot& subnet) {
    const Wires& wires = system.wires();
    std::vector<PortRef> hosts;
    for (const PortRef at : wires.end_ports())
      if (at.port != 0 && !system.is_excused(at) && wires.end(at).active &&
          wires.component(at.node) == wires.component(master.at.node))
        hosts.push_back(at);
    std::vector<std::optional<PortRef>> known;
    for (const PortRef at : hosts)
      known.push_back(subnet.fabric().find_port_guid(system.model().topology().port(at).guid));
    for (std::size_t to = 0; to < hosts.size(); ++to) {
      const ib::Lid lid = system.model().port_info(hosts[to]).lid;
      for (std::size_t from = 0; from < hosts.size(); ++from)
        if (from != to && known[from] && known[to])
          follow(system, hosts[from], hosts[to], lid,
                 path_sl(subnet.fabric(), *subnet.routing, *known[from], *known[to]));
    }
  }

  void follow(System& system, PortRef from, PortRef to, ib::Lid lid, ib::Sl sl) {
    const Wires& wires = system.wires();
    auto& model = system.model();
    PortRef out = from;
    std::uint8_t in = 0;
    LinkVl held = kNone;
    for (std::size_t hops = 0; hops <= wires.nodes(); ++hops) {
      const std::uint8_t vl = model.sl_to_vl(out, in).vl[sl.value];
      if (vl == 15) return;  // dropped
      const auto wanted = static_cast<LinkVl>(wires.index(out) * kVls + vl);
      if (held != kNone) {
        auto& after = waits_[held];
        if (std::ranges::find(after, wanted) == after.end()) after.push_back(wanted);
      }
      held = wanted;
      const PortRef next = wires.end(out).peer;
      if (!next || next == to || !wires.is_switch(next.node)) return;
      in = next.port;
      const std::uint8_t port = model.lft(next.node, lid);
      if (port == 0 || port > wires.ports(next.node)) return;
      out = {next.node, port};
    }
  }

  bool has_circle() const {
    enum class Mark : std::uint8_t { New, Open, Done };
    std::vector<Mark> marks(waits_.size(), Mark::New);
    std::vector<std::pair<LinkVl, std::size_t>> path;
    for (LinkVl start = 0; start < waits_.size(); ++start) {
      if (marks[start] != Mark::New || waits_[start].empty()) continue;
      path.assign(1, {start, 0});
      marks[start] = Mark::Open;
      while (!path.empty()) {
        auto& [link_vl, next] = path.back();
        if (next == waits_[link_vl].size()) {
          marks[link_vl] = Mark::Done;
          path.pop_back();
          continue;
        }
        const LinkVl to = waits_[link_vl][next++];
        if (marks[to] == Mark::Open) return true;
        if (marks[to] == Mark::Done) continue;
        marks[to] = Mark::Open;
        path.emplace_back(to, 0);
      }
    }
    return false;
  }

  std::vector<std::vector<LinkVl>> waits_;  // who holds one waits for these
  std::set<const Seat*> warned_;
};

}  // namespace

std::unique_ptr<Check> make_credit_loop_check() { return std::make_unique<CreditLoopCheck>(); }

}  // namespace soak
