// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/node_name_options.h"

namespace sm::daemon {

ib::Result<std::shared_ptr<const ib::fabric::NodeNames>> read_node_names(const std::string& file,
                                                                         PolicyFiles& files) {
  using Names = ib::Result<std::shared_ptr<const ib::fabric::NodeNames>>;
  if (file.empty()) return nullptr;
  return files.read(kNodeNamesFile, file,
                    [](const std::string& text, const std::string& name) -> Names {
                      std::vector<ib::Diagnostic> problems;
                      auto names = ib::fabric::NodeNames::read(text, name, problems);
                      if (!problems.empty())
                        return refused("the node name map " + name, text, problems);
                      return std::make_shared<const ib::fabric::NodeNames>(std::move(names));
                    });
}

}  // namespace sm::daemon
