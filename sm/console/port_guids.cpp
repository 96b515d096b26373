// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// dump_portguid. Expressions come from any client of the console (libdiag/base/expression.h says
// which are refused).
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "libdiag/base/expression.h"
#include "libdiag/base/text.h"
#include "sm/console/texts.h"

namespace sm::console {
namespace {

constexpr std::size_t kExpressionsMost = 32;  // in one command

std::string guids_text(const ib::fabric::Fabric& fabric, const plan::PortAliases& aliases,
                       const std::vector<std::shared_ptr<const ib::Expression>>& expressions) {
  std::vector<ib::Guid> guids;
  for (ib::fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    const auto& node = fabric.node(n);
    const std::string name = ib::printable(node.name());
    if (std::ranges::none_of(expressions, [&](const auto& e) { return e->matches(name); }))
      continue;
    const unsigned last = node.is_switch() ? 0 : node.num_ports;
    for (unsigned p = node.is_switch() ? 0 : 1; p <= last; ++p)
      if (const auto& port = fabric.port(n, p); port.guid.value != 0) {
        guids.push_back(port.guid);
        if (const auto at = aliases.find(port.guid); at != aliases.end())
          for (const auto& [index, alias] : at->second) guids.push_back(alias);
      }
  }
  std::ranges::sort(guids);
  std::string text;
  for (const ib::Guid guid : guids) text += fmt::format("0x{:x}\n", guid.value);
  return text;
}

}  // namespace

Outcome dump_port_guids(const View& view, Words words) {
  std::string said;
  std::optional<std::string> file;
  std::vector<std::shared_ptr<const ib::Expression>> expressions;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "file") {
      if (++i < words.size())
        file = words[i];
      else
        said += "No file name passed\n";
    } else if (auto expression = ib::Expression::of(words[i]);
               expression && expressions.size() < kExpressionsMost) {
      expressions.push_back(std::move(expression));
    } else {
      said +=
          fmt::format("Cannot parse regular expression '{}'. Skipping\n", ib::printable(words[i]));
    }
  }
  if (expressions.empty()) {
    return failed(ib::cli::kExitUsage, said + "No valid expression provided. Aborting\n");
  }
  if (!view.snapshot) return not_ready(std::move(said));
  std::string guids = guids_text(view.snapshot->fabric(), view.aliases, expressions);
  if (!file) return {said + guids};
  const bool is_a_name = file->find('/') == std::string::npos && *file != "." && *file != "..";
  if (!view.is_trusted && !is_a_name) {
    return failed(ib::cli::kExitUsage,
                  said + fmt::format("Could not open file {}: on a socket, a name without a "
                                     "folder is expected\n",
                                     ib::printable(*file)));
  }
  return {std::move(said), WriteFile{*std::move(file), std::move(guids)}};
}

}  // namespace sm::console
