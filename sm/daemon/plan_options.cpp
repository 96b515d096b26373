// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/plan_options.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>

#include "libdiag/base/text.h"

namespace sm::daemon {
namespace {

constexpr const char* kCompare = "--compare";
constexpr const char* kAll = "all";

double now() {
  using std::chrono::duration;
  return duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double share(const std::string& text) {
  const auto read = ib::route::read_share(text);
  if (!read) throw CLI::ValidationError("--damage: " + read.error().message);
  return *read;
}

/// Standard output has the report already, so it is no place for a picture.
const std::string& place_of(const char* option, const char* kind, const std::string& text) {
  if (text.empty() || text == "-")
    throw CLI::ValidationError(std::string(option) + ": expected " + kind + ", got '" + text + "'");
  return text;
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

constexpr const char* kFooter =
    "Exit status: 0 the routes are verified, 1 those of no engine are, 2 usage or a bad file,\n"
    "4 something could not be written.";

}  // namespace

void PlanWords::add_to(CLI::App& app) {
  auto& what_if = command_.plan.what_if;
  app.footer(kFooter);
  app.add_option("TOPOLOGY", command_.topology, "File of ibnetdiscover's text")->required();
  app.add_option("--without", what_if.without,
                 "Leave out a switch (NAME or GUID) or a link (NAME:PORT or GUID:PORT); may be "
                 "repeated")
      ->type_name("WHAT")
      ->allow_extra_args(false);
  app.add_option_function<std::string>(
         "--damage", [&](const std::string& text) { what_if.damage_percent = share(text); },
         "Leave out so many of the links between switches")
      ->type_name("PCT");
  number(app, "--seed", 0, ~std::uint64_t{0}, "a number",
         "Which links --damage takes, and what --figures samples (default 1)",
         [&](std::uint64_t v) { what_if.seed = command_.figures_options.seed = v; });
  number(app, "-l,--lmc", 0, 7, "a number",
         "2^LMC LIDs for each host port (default: as in the file)",
         [&](std::uint64_t v) { command_.plan.lmc = static_cast<std::uint8_t>(v); });
  app.add_option_function<std::string>(
         kCompare,
         [&](const std::string& text) {
           compared_ = text;
           ib::route::ChoiceOptions choice;
           if (text != kAll) read_engines(kCompare, text, choice);
           compared_engines_ = std::move(choice.engines);
         },
         "A row for each engine of the list, or for all engines")
      ->type_name("[LIST]");
  add_routing_options(app, words_);
  number(app, "--vls", 1, 15, "a number", "The same as --vls-max",
         [&](std::uint64_t v) { words_.choice.vls_max = static_cast<unsigned>(v); });
  app.add_flag("--figures", command_.figures,
               "Load against its floor, lengths, contention of shifts and permutations, bisection");
  app.add_option_function<std::string>(
         "--dump",
         [&](const std::string& text) { command_.dump_dir = place_of("--dump", "a folder", text); },
         "Write tables and lanes into this folder, as opensm and dump_fts do")
      ->type_name("DIR");
  app.add_option_function<std::string>(
         "--svg",
         [&](const std::string& text) { command_.svg_file = place_of("--svg", "a file", text); },
         "Draw the fabric, links coloured by load")
      ->type_name("FILE");
  app.add_flag("--json", command_.json, "JSON instead of text");
}

void PlanWords::join_compare(std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != kCompare) continue;
    const bool list =
        i + 1 < words.size() && !words[i + 1].starts_with('-') &&
        (ib::route::find_engine(words[i + 1]) != nullptr || !std::filesystem::exists(words[i + 1]));
    words[i] += std::string("=") + (list ? words[i + 1] : kAll);
    if (list) words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

ib::Result<PlanCommand> PlanWords::command(const std::string& version) {
  PlanCommand command = command_;
  command.version = version;
  auto& choice = command.plan.choice = words_.choice;
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
    choice.engines = compared_ == kAll ? all_engines(words_.files) : compared_engines_;
    choice.no_fallback = true;
  }
  auto read = ib::route::read_option_files(words_.files, words_.choice.engine);
  if (!read) return tl::unexpected<ib::Error>(std::move(read.error()));
  choice.engine = std::move(read->options);
  command.mentions = std::move(read->mentions);
  return command;
}

}  // namespace sm::daemon
