// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/plan_options.h"

#include <CLI/CLI.hpp>

namespace sm::daemon {

void PlanWords::add_to(CLI::App& app) {
  app.add_option("TOPOLOGY", command_.topology, "File of ibnetdiscover's text")->required();
  add_routing_options(app, words_);
  app.add_flag("--json", command_.json, "JSON instead of text");
  app.add_option("--lfts", command_.lfts_file, "Write the tables here, as dump_fts prints them")
      ->type_name("FILE");
}

ib::Result<PlanCommand> PlanWords::command(const std::string& version) {
  auto read = ib::route::read_option_files(words_.files, words_.choice.engine);
  if (!read) return tl::unexpected<ib::Error>(std::move(read.error()));
  PlanCommand command = command_;
  command.version = version;
  command.choice = words_.choice;
  command.choice.engine = std::move(read->options);
  command.mentions = std::move(read->mentions);
  return command;
}

}  // namespace sm::daemon
