// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// I14: when it is settled every client that asks for a path gets one answer, and it is one that
// leads there.
#include <fmt/format.h>

#include "tests/sim/system/checks/check.h"
#include "tests/sim/system/system.h"

namespace soak {
namespace {

class AnswerCheck final : public Check {
 public:
  void on_settled(System& system) override {
    Dice dice(system.script().model.seed);
    auto& clients = system.clients().all();
    for (std::size_t i = 0; i < clients.size(); ++i) {
      if (!is_served(system, clients[i].at)) continue;
      const PortRef to = system.hosts()[dice.below(system.hosts().size())];
      if (!is_served(system, to) ||
          system.wires().component(to.node) != system.wires().component(clients[i].at.node))
        continue;
      system.clients().ask_path(i, to);
      asked_.insert(i);
    }
  }
  void on_end(System& system) override {
    for (const std::size_t i : asked_)
      if (!look(system, system.clients().all()[i])) return;
  }

 private:
  static bool is_served(System& system, PortRef at) {
    return !system.is_excused(at) && system.wires().end(at).active &&
           system.master_of(at.node) != nullptr;
  }
  static bool look(System& system, const Clients::Client& client) {
    const PathQuestion& asked = *client.path;
    const auto says = [&](const std::string& what) {
      system.report("I14", fmt::format("{} asked for a path to {}: {}", system.name(client.at),
                                       system.name(asked.to), what));
      return false;
    };
    if (asked.answers != 1) return says(fmt::format("{} answers", asked.answers));
    if (asked.status != 0) return says(fmt::format("status 0x{:04x}", asked.status));
    const auto holds = [&](PortRef at, ib::Lid lid) {
      const auto info = system.model().port_info(at);
      return lid.value >= info.lid.value && lid.value < info.lid.value + (1U << info.lmc);
    };
    if (!holds(asked.to, asked.answer.dlid) || !holds(client.at, asked.answer.slid))
      return says(fmt::format("from LID {} to LID {}, which are others'", asked.answer.slid.value,
                              asked.answer.dlid.value));
    return true;
  }

  std::set<std::size_t> asked_;
};

}  // namespace

std::unique_ptr<Check> make_answer_check() { return std::make_unique<AnswerCheck>(); }

}  // namespace soak
