// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Sweeps around places of a fabric that is known, one after the other, while links come and go and
// devices answer with anything: each comes to its end, and either says why the whole is to be swept
// or has a fabric that hangs together.
#include "tests/fuzz/swept_answers.h"

namespace {

using ib::fuzz::Input;
using ib::fuzz::require;

constexpr std::size_t kMost = 20'000;

ib::fabric::PortRef some_port(const ib::fabric::Fabric& f, Input& in) {
  const auto n = static_cast<ib::fabric::NodeIndex>(in.byte() % f.nodes().size());
  return {n, static_cast<std::uint8_t>(1 + in.byte() % f.node(n).num_ports)};
}

void change_something(ib::fuzz::SweptDevices& devices, Input& in) {
  auto& model = devices.model();
  const auto at = some_port(model.topology(), in);
  switch (in.byte() % 5) {
    case 0:
      (void)model.link_down(devices.now(), at);
      return;
    case 1:
      (void)model.link_up(devices.now(), at);
      return;
    case 2:
      (void)model.move_cable(devices.now(), at, some_port(model.topology(), in));
      return;
    case 3:
      (void)model.reboot(devices.now(), at.node);
      return;
    default:
      return;
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  ib::fuzz::SweptDevices devices;
  auto known = [&] {
    ib::discover::Sweep whole;
    devices.serve(whole, nullptr, kMost);
    return std::make_shared<const ib::discover::Observed>(whole.take_observed());
  }();
  require(known->troubles.empty(), "the fabric is in order");
  for (int round = 0; round < 3 && !in.empty(); ++round) {
    change_something(devices, in);
    ib::discover::SweepOptions options;
    auto& part = options.partial.emplace();
    part.known = known;
    part.troubles = known->troubles;
    for (unsigned n = 1 + in.byte() % 3U; n > 0; --n) {
      const std::uint8_t who = in.byte();
      const auto& nodes = known->fabric.nodes();
      part.places.push_back(
          {who == 255 ? ib::Guid{who} : nodes[who % nodes.size()].guid, in.byte() % 2 == 0});
    }
    if (in.byte() % 2 == 0) part.is_unsure = [](ib::Guid) { return true; };
    options.clears_changes_of = [](ib::Guid) { return true; };
    ib::discover::Sweep sweep(options);
    devices.serve(sweep, &in, kMost);
    require(ib::printable(sweep.why_whole()) == sweep.why_whole(), "the reason is one line");
    if (!sweep.why_whole().empty()) return 0;
    ib::fuzz::require_sound(sweep.observed());
    for (const ib::Guid guid : sweep.asked_anew())
      require(sweep.observed().fabric.find_node(guid).has_value(), "who was asked is there");
    known = std::make_shared<const ib::discover::Observed>(sweep.take_observed());
  }
  return 0;
}
