// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Any words of `ibfabric ctl flow` and `ibfabric ctl counters`, a word a line and a line of
// `name=value` with a tab before it an option; an empty line ends a command. Each is done or
// refused with a text, and time goes on.
#include <string>

#include "libdiag/base/text.h"
#include "libdiag/fabric/generate.h"
#include "tests/fuzz/fuzz.h"
#include "tools/ibfabric/control.h"

namespace {

using namespace ibfabric;

class NoFile final : public Capture {
  ib::Result<void> start(const std::string&) override { return {}; }
  ib::Result<void> stop() override { return {}; }
};
class Nobody final : public Hosts {
  std::vector<OpenFile> open_files() const override { return {}; }
  void reset_dropped() override {}
};

CtlCommand command_of(std::string_view text) {
  CtlCommand command;
  for (const std::string_view line : ib::split(text, '\n')) {
    const auto equals = line.find('=');
    if (line.starts_with('\t') && equals != std::string_view::npos)
      command.options[std::string(line.substr(1, equals - 1))] = line.substr(equals + 1);
    else if (line == "json")
      command.json = true;
    else if (command.verb.empty())
      command.verb = line == "counters" ? "counters" : "flow";
    else
      command.words.emplace_back(line);
  }
  return command;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using ib::fuzz::require;
  ib::fabric::FatTree tree;
  tree.radix = 4;
  ib::sim::Model model(*ib::fabric::generate(tree));
  NoFile capture;
  Nobody hosts;
  Control control(model, capture, hosts);
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  ib::Instant now{0};
  for (int i = 0; i < 32 && !rest.empty(); ++i) {
    const auto end = std::min(rest.find("\n\n"), rest.size());
    const CtlResult result = control.execute(now, command_of(rest.substr(0, end)));
    require(result.status == 0 || !result.text.empty(), "what is refused has a reason");
    rest.remove_prefix(std::min(end + 2, rest.size()));
    now = now + std::chrono::seconds(1);
    model.advance(now);
  }
  for (const auto& flow : model.flows(now)) require(flow.gbit >= 0, "no rate is negative");
  return 0;
}
