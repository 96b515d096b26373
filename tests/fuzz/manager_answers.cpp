// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A whole subnet manager whose devices answer all that it asks and sets with anything, links going
// down and coming up meanwhile: it goes on, and once they tell the truth the subnet comes up.
#include <chrono>

#include "tests/fuzz/fuzz.h"
#include "tests/sim/sm_on_model.h"
#include "tests/sim/small_tree.h"

namespace {

using ib::fuzz::Input;
using ib::fuzz::require;
using namespace std::chrono_literals;

/// Features by which it asks devices for more than a bare fabric needs.
sm::core::Options some_options(Input& in) {
  sm::core::Options options;
  const std::uint8_t with = in.byte();
  auto& plan = options.plan;
  plan.qos = (with & 1) != 0;
  plan.lmc = (with & 2) != 0 ? 1 : 0;
  plan.suppress_multicast_p_key_traps = (with & 4) != 0;
  if ((with & 8) != 0) plan.link_force.speed_ext = in.byte() % 32;
  if ((with & 16) != 0) plan.link_force.speed = in.byte() % 16;
  if ((with & 32) != 0) plan.link_force.fdr10 = (with & 64) != 0;
  return options;
}

/// Devices say what the input has them say: other bytes, another status.
class Lies {
 public:
  explicit Lies(Input& in) : in_(in) {}
  void operator()(ib::mad::Packet& packet) {
    const std::uint8_t kind = in_.byte();
    auto& mad = packet.mad;
    if (kind % 8 == 7) mad.set<&ib::wire::MadHeader::status>(in_.byte() & 0x1CU);
    for (unsigned changed = kind / 8 % 4; changed > 0; --changed) {
      const std::size_t at = in_.byte() % ib::wire::kSmpDataBytes;
      mad.data()[at] = static_cast<std::byte>(in_.byte());
    }
  }

 private:
  Input& in_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  Input in(data, size);
  auto options = some_options(in);
  sm::test::SmOnModel run(sm::test::small_tree(), {}, options);
  run.listen(Lies(in));
  run.watch([&](const ib::mad::Packet&) { return in.byte() % 16 != 15; });
  const auto& fabric = run.model().topology();
  for (int round = 0; round < 6 && !in.empty(); ++round) {
    run.run_for(5s);
    const auto n = static_cast<ib::fabric::NodeIndex>(in.byte() % fabric.nodes().size());
    const std::uint8_t port = 1 + in.byte() % fabric.node(n).num_ports;
    (void)run.model().link_down(run.now(), {n, port});
    run.run_for(1s);
    (void)run.model().link_up(run.now(), {n, port});
    if (in.byte() % 4 == 0) run.sm().rewrite_now(run.now());
  }
  run.listen(sm::test::SmOnModel::Listen{});
  run.watch(sm::test::SmOnModel::Watch{});
  for (int round = 0; round < 3; ++round) {
    run.sm().sweep_now(run.now(), sm::core::Reason::Operator);
    run.run_for(20s);
  }
  require(run.reports() > 0, "a sweep comes to its end");
  require(run.last().up() && run.not_active().empty(),
          "the subnet comes up once devices tell the truth");
  return 0;
}
