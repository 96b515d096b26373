// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a change costs ibsm's machine on a large fabric, in process: a cable pulled and plugged, a
// host, a switch; beside a light sweep and a sweep of the whole. The fabric model is not in it:
// what is measured is the time within the subnet manager, plans included, from the first trap (or
// the order) until it is at rest, and in it until the last Set was answered. By the clock: the one
// of processor time takes as long to read as an answer to handle.
//
//   change_bench [HOSTS_PER_LEAF]    of a full tree of three levels, radix twice that; 18: 11,664
//   hosts
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "libdiag/fabric/generate.h"
#include "libdiag/sim/model.h"
#include "sm/core/subnet_manager.h"

namespace {

using ib::Instant;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::Method;
using namespace std::chrono_literals;

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class Bench final : public sm::core::Carrier {
 public:
  explicit Bench(Fabric fabric) : model_(std::move(fabric)), manager_(options(), {}) {
    for (NodeIndex n = 0; !at_; ++n)
      if (!topology().node(n).is_switch()) at_ = {n, 1};
    timed([&] { manager_.start(now_); });
    run_until_idle();
  }

  const Fabric& topology() const { return model_.topology(); }
  ib::sim::Model& model() { return model_; }
  sm::core::SubnetManager& manager() { return manager_; }
  Instant now() const { return now_; }
  PortRef at() const { return at_; }
  const std::string& up() const { return headline_; }

  /// Until nothing is under way any more; light sweeps and readings of tables wait.
  void run_until_idle() {
    for (const Instant end = now_ + 9s; now_ < end;)
      if (!step(end)) break;
  }
  void run_for(ib::Duration d) {
    for (const Instant end = now_ + d; step(end);) {
    }
  }

  template <class Do>
  void measure(const char* what, Do&& what_happens) {
    smps_ = lft_sets_ = sets_ = 0;
    spent_ms_ = acknowledged_ms_ = 0;
    const auto before = manager_.counters();
    what_happens();
    run_until_idle();
    const auto after = manager_.counters();
    fmt::print("{:<34}{:>8}{:>9}{:>8}{:>10.1f}{:>10.1f}   {} of the whole, {} of a part\n", what,
               smps_ - lft_sets_, lft_sets_, sets_ - lft_sets_, acknowledged_ms_, spent_ms_,
               after.full_sweeps - before.full_sweeps,
               after.partial_sweeps - before.partial_sweeps);
    std::fflush(stdout);
  }

  template <class Do>
  void timed(Do&& run) {
    const double began = now_ms();
    run();
    spent_ms_ += now_ms() - began;
  }

 private:
  static sm::core::Options options() {
    sm::core::Options o;
    o.sweep_interval = 3600s;
    o.read_tables_after.reset();
    return o;
  }
  bool step(Instant end) {
    timed([&] { carry_out(manager_, now_, *this); });
    const Instant next = std::min(model_.next_event(), manager_.next_deadline());
    if (next > end) {
      now_ = end;
      return false;
    }
    now_ = std::max(now_, next);
    model_.advance(now_);
    while (const auto* delivery = model_.next_delivery()) {
      if (delivery->port != at_ || !delivery->smi) continue;
      timed([&] { manager_.on_packet(now_, delivery->packet); });
      const auto& mad = delivery->packet.mad;
      if (mad.method() == Method::GetResp &&
          mad.attribute_id() == ib::wire::attr::kLinearForwarding)
        acknowledged_ms_ = spent_ms_;
    }
    if (manager_.next_deadline() <= now_) timed([&] { manager_.on_time(now_); });
    return true;
  }

  void commit(sm::store::Batch) override {}
  ib::Result<void> send(const sm::core::Outgoing& out) override {
    // Of what is spent in here the model's share is taken off.
    const double began = now_ms();
    const auto& mad = out.packet.mad;
    if (mad.method() == Method::Get || mad.method() == Method::Set) ++smps_;
    if (mad.method() == Method::Set) {
      ++sets_;
      lft_sets_ += mad.attribute_id() == ib::wire::attr::kLinearForwarding;
    }
    model_.send(now_, at_, true, out.packet);
    spent_ms_ -= now_ms() - began;
    return {};
  }
  void report(sm::core::Report report) override { headline_ = report.headline(); }

  ib::sim::Model model_;
  sm::core::SubnetManager manager_;
  PortRef at_;
  Instant now_{1'000'000'000};
  std::string headline_;
  std::uint64_t smps_{0}, sets_{0}, lft_sets_{0};
  double spent_ms_{0}, acknowledged_ms_{0};
};

/// An uplink of a leaf far from the subnet manager.
PortRef uplink(const Fabric& f, PortRef not_at) {
  const NodeIndex own = f.port(not_at).peer.node;
  PortRef found;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    if (f.node(n).is_switch() || f.port(n, 1).peer.node == own) continue;
    const NodeIndex leaf = f.port(n, 1).peer.node;
    for (unsigned p = 1; p <= f.node(leaf).num_ports; ++p)
      if (const PortRef peer = f.port(leaf, p).peer; peer && f.node(peer.node).is_switch())
        found = {leaf, static_cast<std::uint8_t>(p)};
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  // A run of all benchmarks gives options of their library.
  const int given = argc > 1 ? std::atoi(argv[1]) : 0;
  const unsigned half = given > 0 ? static_cast<unsigned>(given) : 18;
  ib::fabric::FatTree tree;
  tree.radix = 2 * half;
  tree.levels = 3;
  ib::fabric::GenerateCommon common;
  common.lids = false;
  Bench bench(ib::fabric::generate(tree, common).value());
  const Fabric& f = bench.topology();
  fmt::print("{} hosts, {} switches: {}\n", f.count(ib::wire::NodeType::ChannelAdapter),
             f.count(ib::wire::NodeType::Switch), bench.up());
  fmt::print("{:<34}{:>8}{:>9}{:>8}{:>10}{:>10}   sweeps\n", "", "SMPs", "LFT Sets", "Sets",
             "acked, ms", "all, ms");
  auto& sm = bench.manager();
  const auto whole = [&] {
    bench.timed([&] { sm.sweep_now(bench.now(), sm::core::Reason::Trap); });
  };
  const auto light = [&] { bench.timed([&] { sm.light_sweep_now(bench.now()); }); };
  bench.measure("a sweep of the whole", whole);
  bench.measure("a light sweep", light);

  const PortRef cable = uplink(f, bench.at());
  bench.measure("an uplink of a leaf is pulled",
                [&] { (void)bench.model().link_down(bench.now(), cable); });
  bench.measure("a light sweep", light);
  bench.measure("... and plugged", [&] { (void)bench.model().link_up(bench.now(), cable); });
  bench.measure("a light sweep", light);

  NodeIndex host = static_cast<NodeIndex>(f.nodes().size()) / 2;  // not that of the last LID
  while (f.node(host).is_switch()) ++host;
  bench.measure("a host goes", [&] { (void)bench.model().remove(bench.now(), host); });
  bench.measure("a light sweep", light);
  bench.measure("... and comes back", [&] { (void)bench.model().bring_back(bench.now(), host); });
  bench.measure("a light sweep", light);

  const NodeIndex spine = f.port(cable).peer.node;
  bench.measure("a switch of the middle level goes",
                [&] { (void)bench.model().remove(bench.now(), spine); });
  bench.measure("a light sweep", light);
  bench.measure("... and comes back", [&] { (void)bench.model().bring_back(bench.now(), spine); });
  return 0;
}
