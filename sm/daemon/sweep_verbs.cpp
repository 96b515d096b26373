// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/sweep_verbs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "libdiag/base/text.h"
#include "libdiag/cli/exit_status.h"
#include "libdiag/fabric/labels.h"
#include "libdiag/fabric/names.h"
#include "sm/daemon/unknown_node.h"

namespace sm::daemon {
namespace {

using control::Answer;
using core::SubnetManager;

Answer pause(SubnetManager& manager, ib::Instant now) {
  const bool was = manager.paused();
  manager.set_paused(now, true);
  if (was) return {0, "paused already\n"};
  return {0, manager.idle() ? "paused\n" : "paused; what is under way is finished\n"};
}

Answer resume(SubnetManager& manager, ib::Instant now) {
  const bool was = manager.paused();
  manager.set_paused(now, false);
  return {0, was ? "resumed\n" : "it was not paused\n"};
}

Answer not_master(const SubnetManager& manager) {
  const core::SmStatus& status = manager.mastership().status();
  if (status.state == ib::wire::SmState::Standby)
    return {ib::cli::kExitCannotRun, "another one is master\n"};
  return {ib::cli::kExitCannotRun,
          fmt::format("this one is {}, not MASTER: {}\n", core::election::state_name(status.state),
                      status.why)};
}

Answer rewrite(SubnetManager& manager, ib::Instant now) {
  if (!manager.mastership().is_master()) return not_master(manager);
  manager.rewrite_now(now);
  return {0, manager.paused() ? "everything is sent again after `ibsm ctl resume`\n"
                              : "everything is sent again\n"};
}

/// `word`: NODE:PORT.
Answer enable(const std::string& word, SubnetManager& manager, ib::Instant now) {
  if (!manager.mastership().is_master()) return not_master(manager);
  const auto& fabric = manager.observed().fabric;
  const auto at = ib::fabric::find_node_and_port(fabric, word);
  if (!at) return misnamed(at.error(), word);
  if (!at->port || *at->port == 0)
    return {ib::cli::kExitUsage,
            "'" + ib::printable(word) + "': expected NODE:PORT, a port with a cable\n"};
  const ib::fabric::PortRef port{at->node, *at->port};
  if (!manager.enable_port(now, fabric.node(at->node).guid, *at->port))
    return {ib::cli::kExitFound, ib::fabric::port_name(fabric, port) + " is not there\n"};
  return {0,
          ib::fabric::port_name(fabric, port) +
              (manager.paused() ? " is enabled after `ibsm ctl resume`\n" : " is being enabled\n")};
}

struct Verb {
  std::string_view name;
  Answer (*run)(SubnetManager& manager, ib::Instant now);
};
constexpr std::array kVerbs{Verb{"pause", pause}, Verb{"resume", resume}, Verb{"rewrite", rewrite}};

}  // namespace

std::optional<Answer> sweep_verb(const control::Request& request, SubnetManager& manager,
                                 ib::Instant now) {
  if (request.verb == "enable") {
    if (request.words.size() != 1)
      return Answer{ib::cli::kExitUsage, "enable takes one port, NODE:PORT\n"};
    return enable(request.words.front(), manager, now);
  }
  const auto verb = std::ranges::find(kVerbs, request.verb, &Verb::name);
  if (verb == kVerbs.end()) return std::nullopt;
  if (!request.words.empty())
    return Answer{ib::cli::kExitUsage, request.verb + " takes no words\n"};
  return verb->run(manager, now);
}

}  // namespace sm::daemon
