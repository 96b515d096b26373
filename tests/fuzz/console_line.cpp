// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What somebody types at the console, in pieces: whole lines come out of it however it was cut, and
// every line is answered. A list of peers (console_allow): an error or a list.
#include <string>

#include "sm/config/peers.h"
#include "sm/console/session.h"
#include "sm/control/lines.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/sm/sa/snapshot_of.h"

namespace {

const sm::console::View& view() {
  static const sm::console::View made = [] {
    sm::console::View v;
    v.snapshot = sm::sa::test::snapshot_of(*ib::fabric::generate(ib::fabric::FatTree{}));
    v.configuration = [] { return std::string("guid 0x0\n"); };
    v.clock = [] { return ib::Instant{0}; };
    v.is_trusted = false;
    static sm::managers::performance::PerformanceManager manager(
        sm::managers::performance::Options{});
    v.performance = &manager;
    return v;
  }();
  return made;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ib::fuzz::require;
  using namespace sm;
  ib::fuzz::Input input(data, size);
  const std::size_t cut = input.byte();
  const auto rest = input.rest();
  const std::string text(reinterpret_cast<const char*>(rest.data()), rest.size());

  control::Lines whole(console::kLineMost), pieces(console::kLineMost);
  whole.add(text);
  console::Session session;
  const auto run = [](console::Words words) {
    console::Outcome outcome = console::run(view(), words);
    if (const auto* file =
            outcome.order ? std::get_if<console::WriteFile>(&*outcome.order) : nullptr)
      require(file->path.find('/') == std::string::npos, "a socket names no folder");
    return outcome;
  };
  std::size_t at = 0;
  while (const auto line = whole.next()) {
    std::optional<std::string> same;
    while (!(same = pieces.next()) && at < text.size()) {
      pieces.add(std::string_view(text).substr(at, cut + 1));
      at += cut + 1;
    }
    require(same == line, "the same lines however they were cut");
    require(line->size() <= console::kLineMost, "no line is longer than may be");
    if (session.on_line(ib::Instant{0}, *line, run).ends) break;
  }
  if (auto peers = config::Peers::read(text)) (void)peers->empty();
  return 0;
}
