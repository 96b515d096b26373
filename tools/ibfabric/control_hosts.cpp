// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// `ctl` about the kernels of the hosts.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "libdiag/base/text.h"
#include "tools/ibfabric/control.h"
#include "tools/ibfabric/control_answers.h"

namespace ibfabric {

CtlResult Control::thresholds(const CtlCommand& command) {
  const auto& w = command.words;
  if (w.size() > 1 || (w.size() == 1 && w[0] != "reset"))
    return usage("expected thresholds [reset]");
  if (!w.empty()) {
    hosts_.reset_dropped();
    return done(command);
  }
  Json rows = Json::array();
  std::string text;
  for (const OpenFile& file : hosts_.open_files()) {
    const auto& node = model_.topology().node(file.port.node);
    const std::string name = ib::printable(node.description);
    rows.push_back({{"node", node_json(node)},
                    {"port", file.port.port},
                    {"pid", file.pid},
                    {"threshold", file.queue.threshold == 0 ? Json() : Json(file.queue.threshold)},
                    {"unread", file.queue.unread},
                    {"dropped", file.queue.dropped}});
    char line[160];
    std::snprintf(line, sizeof line, "' port %u pid %d threshold %s unread %zu dropped %llu\n",
                  file.port.port, static_cast<int>(file.pid),
                  file.queue.threshold == 0 ? "none" : std::to_string(file.queue.threshold).c_str(),
                  file.queue.unread, static_cast<unsigned long long>(file.queue.dropped));
    text += "'" + name + line;
  }
  if (command.json) return in_json("thresholds", {{"ports", std::move(rows)}});
  return {0, text};
}

}  // namespace ibfabric
