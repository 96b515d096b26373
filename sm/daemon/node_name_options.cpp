// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/node_name_options.h"

#include "sm/daemon/operator_file.h"

namespace sm::daemon {

ib::Result<std::shared_ptr<const ib::fabric::NodeNames>> read_node_names(const std::string& file) {
  if (file.empty()) return nullptr;
  const auto text = read_operator_file(file);
  if (!text) return tl::unexpected<ib::Error>(text.error());
  std::vector<ib::Diagnostic> problems;
  auto names = ib::fabric::NodeNames::read(*text, file, problems);
  if (!problems.empty()) return refused("the node name map " + file, *text, problems);
  return std::make_shared<const ib::fabric::NodeNames>(std::move(names));
}

}  // namespace sm::daemon
