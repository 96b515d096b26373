// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/plan_options.h"

#include <chrono>
#include <filesystem>

#include "libdiag/base/text.h"
#include "sm/config/routing.h"

namespace sm::daemon {
namespace {

constexpr const char* kAll = "all";

double now() {
  using std::chrono::duration;
  return duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Standard output has the report already, so it is no place for a picture.
ib::cli::Read place(std::string& out, const char* kind) {
  return [&out, kind](const std::string& text) -> ib::Result<void> {
    if (text.empty() || text == "-")
      return ib::fail(ib::ErrorKind::Usage,
                      std::string("expected ") + kind + ", got '" + text + "'");
    out = text;
    return {};
  };
}

/// `file` only where there is something to read.
std::vector<std::string> all_engines(const ib::route::OptionFiles& given) {
  using ib::route::OptionFile;
  const bool files = given.contains(OptionFile::Lfts) || given.contains(OptionFile::LidMatrix);
  std::vector<std::string> names;
  for (const auto& engine : ib::route::engines())
    if (files || engine.name != std::string_view("file")) names.emplace_back(engine.name);
  return names;
}

/// Not the topology that stands behind a --compare without a list.
bool is_engine_list(const std::string& word) {
  return !word.starts_with('-') &&
         (ib::route::find_engine(word) != nullptr || !std::filesystem::exists(word));
}

constexpr const char* kFooter =
    "Exit status: 0 the routes are verified, 1 those of no engine are, 2 usage or a bad file,\n"
    "4 something could not be written.";

}  // namespace

void PlanWords::add_to(ib::cli::CommandLine& line) {
  auto& what_if = command_.plan.what_if;
  line.footer(kFooter);
  line.operand("TOPOLOGY", command_.topology, "File of ibnetdiscover's text");
  line.texts("--without", what_if.without, "WHAT",
             "Leave out a switch (NAME or GUID) or a link (NAME:PORT or GUID:PORT); may be "
             "repeated");
  line.option("--damage", "PCT", "Leave out so many of the links between switches",
              [&](const std::string& text) {
                return ib::route::read_share(text).map(
                    [&](double share) { what_if.damage_percent = share; });
              });
  line.number("--seed", {0, ~std::uint64_t{0}},
              "Which links --damage takes, and what --figures samples (default 1)",
              [&](std::uint64_t v) { what_if.seed = command_.figures_options.seed = v; });
  line.number("-l,--lmc", {0, 7}, "2^LMC LIDs for each host port (default: as in the file)",
              [&](std::uint64_t v) { command_.plan.lmc = static_cast<std::uint8_t>(v); });
  line.optional_value("--compare", "LIST", "A row for each engine of the list, or for all engines",
                      kAll, is_engine_list, [&](const std::string& text) -> ib::Result<void> {
                        compared_ = text;
                        if (text == kAll) return {};
                        ib::route::ChoiceOptions choice;
                        return ib::route::read_engine_list(text, choice).map([&] {
                          compared_engines_ = std::move(choice.engines);
                        });
                      });
  words_.add_to(line, config::CommandWords::Which::Routing);
  line.number("--vls", {1, 15}, "The same as --vls-max",
              [&](std::uint64_t v) { vls_max_ = static_cast<unsigned>(v); });
  line.flag("--figures", command_.figures,
            "Load against its floor, lengths, contention of shifts and permutations, bisection");
  line.option("--dump", "DIR", "Write tables and lanes into this folder, as opensm and dump_fts do",
              place(command_.dump_dir, "a folder"));
  line.option("--svg", "FILE", "Draw the fabric, links coloured by load",
              place(command_.svg_file, "a file"));
  line.flag("--json", command_.json, "JSON instead of text");
}

ib::Result<PlanCommand> PlanWords::command(const std::string& version) {
  PlanCommand command = command_;
  command.version = version;
  config::Configuration said;
  words_.apply(said);
  auto [read_choice, files] = config::routing(said.settings);
  auto& choice = command.plan.choice = std::move(read_choice);
  if (vls_max_) choice.vls_max = *vls_max_;
  choice.clock = now;
  if (!compared_.empty()) {
    if (!choice.engines.empty() || choice.no_fallback)
      return ib::fail(ib::ErrorKind::Usage,
                      "expected --compare LIST or -R LIST, got both; the one compares all of its "
                      "list, the other takes the first that passes");
    if (!command.dump_dir.empty() || !command.svg_file.empty() || command.figures)
      return ib::fail(ib::ErrorKind::Usage,
                      "expected one engine's routes for --dump, --svg and --figures; name it with "
                      "-R instead of --compare");
    choice.compare = true;
    choice.engines = compared_ == kAll ? all_engines(files) : compared_engines_;
    choice.no_fallback = true;
  }
  auto read = ib::route::read_option_files(files, choice.engine);
  if (!read) return tl::unexpected<ib::Error>(std::move(read.error()));
  choice.engine = std::move(read->options);
  command.mentions = std::move(read->mentions);
  return command;
}

}  // namespace sm::daemon
