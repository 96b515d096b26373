// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/plan/plan_args.h"

#include <chrono>
#include <filesystem>

#include "libdiag/base/text.h"

namespace ib::plan {
namespace {

/// Standard output has the report already, so it is no place for a picture.
cli::Read place(std::string& out, const char* kind) {
  return [&out, kind](const std::string& text) -> Result<void> {
    if (text.empty() || text == "-")
      return fail(ErrorKind::Usage, std::string("expected ") + kind + ", got '" + text + "'");
    out = text;
    return {};
  };
}

/// Those that route by files only where there are some.
std::vector<std::string> all_engines(const route::Options& options) {
  std::vector<std::string> names;
  for (const auto& engine : route::engines())
    if (engine.given == nullptr || engine.given(options)) names.emplace_back(engine.name);
  return names;
}

double seconds_now() {
  using std::chrono::duration;
  return duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Not the topology file behind a --compare without a list.
bool is_engine_list(const std::string& word) {
  return !word.starts_with('-') &&
         (route::find_engine(word) != nullptr || !std::filesystem::exists(word));
}

}  // namespace

void PlanArgs::add_to(cli::CommandLine& line, Operand operand, Routing routing) {
  auto& what_if = command_.plan.what_if;
  if (operand == Operand::Topology)
    line.operand("TOPOLOGY", operand_, "Saved topology (the same as --load)");
  line.text("--load", load_, "TOPOLOGY",
            "Plan for this saved topology (ibnetdiscover's text or opensm-subnet.lst)");
  line.texts("--without", what_if.without, "WHAT",
             "Leave out a switch (NAME or GUID) or a link (NODE:PORT); several: joined by commas, "
             "or given again");
  line.option(
      "--damage", "PCT", "Leave out this percentage of the links between switches",
      [&](const std::string& text) {
        return route::read_share(text).map([&](double share) { what_if.damage_percent = share; });
      });
  line.number("--seed", {0, ~std::uint64_t{0}},
              "Random seed: which links --damage removes, what --figures samples (default 1)",
              [&](std::uint64_t v) { what_if.seed = command_.figures_options.seed = v; });
  line.optional_value("--compare", "LIST", "A row for each engine of LIST (default: all engines)",
                      kAll, is_engine_list, [&](const std::string& text) { return compare(text); });
  if (routing == Routing::Here) {
    line.number("-l,--lmc", {0, 7}, "2^LMC LIDs for each host port (default: as they have)",
                [&](std::uint64_t v) { command_.plan.lmc = static_cast<std::uint8_t>(v); });
    routing_.add_to(line);
  }
  line.flag("--figures", command_.figures,
            "Load against its floor, path lengths, contention of shifts and permutations, "
            "bisection");
  line.option("--dump", "DIR",
              "Write topology, LFTs and SL2VL tables into this folder, as opensm and dump_fts do",
              place(command_.dump_dir, "a folder"));
  line.option("--svg", "FILE", "Draw the fabric, links coloured by load relative to its floor",
              place(command_.svg_file, "a file"));
}

Result<void> PlanArgs::compare(const std::string& list) {
  compared_ = list;
  route::ChoiceOptions checked;
  return list == kAll ? Result<void>{} : route::read_engine_list(list, checked);
}

Result<PlanCommand> PlanArgs::command() const {
  auto read = routing_.read();
  if (!read) return tl::unexpected<Error>(std::move(read.error()));
  auto command = this->command(std::move(read->choice));
  if (command) command->mentions = std::move(read->mentions);
  return command;
}

Result<PlanCommand> PlanArgs::command(route::ChoiceOptions of_routing) const {
  PlanCommand command = command_;
  if (operand_ && !load_.empty())
    return fail(ErrorKind::Usage, "expected one topology, got --load '" + printable(load_) +
                                      "' and '" + printable(*operand_) + "'");
  if (operand_ && route::find_engine(*operand_) != nullptr && !std::filesystem::exists(*operand_))
    return fail(ErrorKind::Usage, "expected a topology file, got the routing engine '" + *operand_ +
                                      "'; name engines with -R");
  command.topology = topology();
  command.plan.choice = std::move(of_routing);
  command.plan.choice.clock = seconds_now;
  if (!compared_) return command;
  auto& choice = command.plan.choice;
  if (!choice.engines.empty() || choice.no_fallback)
    return fail(ErrorKind::Usage,
                "expected --compare LIST or -R LIST, got both; --compare tries all of its list, -R "
                "takes the first that passes");
  if (!command.dump_dir.empty() || !command.svg_file.empty() || command.figures)
    return fail(ErrorKind::Usage,
                "expected one engine's routes for --dump, --svg and --figures; name it with -R "
                "instead of --compare");
  if (*compared_ == kAll) {
    choice.engines = all_engines(choice.engine);
  } else {
    route::ChoiceOptions listed;
    if (auto known = route::read_engine_list(*compared_, listed); !known)
      return tl::unexpected<Error>(std::move(known.error()));
    choice.engines = std::move(listed.engines);
  }
  choice.compare = true;
  choice.no_fallback = true;
  return command;
}

}  // namespace ib::plan
