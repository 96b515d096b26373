// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibroutes/engine_words.h"

#include <chrono>

#include "libdiag/base/text.h"

namespace ib::tools {
namespace {

double seconds_now() {
  using std::chrono::duration;
  return duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool named(const route::OptionFiles& files, route::OptionFile which) {
  const auto at = files.find(which);
  return at != files.end() && !at->second.empty();
}

}  // namespace

void EngineWords::add_to(cli::CommandLine& line) {
  line.number("--vls", vls_max_, 1, 15, "Data VLs that engines may use (8)");
  line.text("--without", without_, "LIST",
            "Route without these switches (NAME or GUID) and links (NAME:PORT), joined by commas");
  line.text("--damage", damage_, "PCT", "Route without so many per cent of the links (0)");
  line.number("--seed", seed_, 0, ~std::uint64_t{0}, "Which links --damage takes (1)");
  line.number("--lmc", lmc_, 0, 7, "As if hosts had 2^LMC LIDs each (as they have)");
  line.number("--scatter-ports", scatter_, 0, 0xFFFFFFFF, "Equal ports by chance; 0: not (0)");
  line.number("--lash_start_vl", lash_start_vl_, 0, 14, "First VL that lash uses (0)");
  line.number("--nue_max_num_vls", nue_max_num_vls_, 0, 15, "VLs of nue; 0: all there are (0)");
  add_files(line);
}

void EngineWords::add_files(cli::CommandLine& line) {
  using route::OptionFile;
  static constexpr struct {
    OptionFile which;
    const char* name;
    const char* help;
  } kFiles[] = {
      {OptionFile::Roots, "--root_guid_file", "GUIDs of the tops of a tree"},
      {OptionFile::ComputeNodes, "--cn_guid_file", "Port GUIDs of compute nodes"},
      {OptionFile::IoNodes, "--io_guid_file", "Port GUIDs of I/O nodes"},
      {OptionFile::Ids, "--ids_guid_file", "Numbers that stand for GUIDs of switches"},
      {OptionFile::Ignored, "--ignore_guids", "Ports whose load is not counted"},
      {OptionFile::HopWeights, "--hop_weights_file", "What a hop costs"},
      {OptionFile::PortSearchOrder, "--port_search_ordering_file", "Order of ports"},
      {OptionFile::GuidRoutingOrder, "--guid_routing_order_file", "Ports that are routed first"},
      {OptionFile::Torus, "--torus_config", "torus-2QoS.conf"},
      {OptionFile::Lfts, "--lfts_file", "Forwarding tables: engine file"},
      {OptionFile::LidMatrix, "--lid_matrix_file", "Hop counts: engine file"},
  };
  for (const auto& file : kFiles) line.text(file.name, files_[file.which], "FILE", file.help);
}

Result<route::PlanOptions> EngineWords::read(
    const Source& source, const std::function<void(const std::string&)>& warn) const {
  if (source.fabric.count(wire::NodeType::Switch) == 0)
    return fail(ErrorKind::Usage,
                "cannot route this fabric: it has no switch, so there is nothing to route");
  route::PlanOptions options;
  const auto damage = route::read_share(damage_);
  if (!damage) return fail(ErrorKind::Usage, "--damage: " + damage.error().message);
  options.what_if.damage_percent = *damage;
  options.what_if.seed = seed_;
  for (const auto part : split(without_, ','))
    if (!part.empty()) options.what_if.without.emplace_back(part);
  if (lmc_ != kAsIs) options.lmc = static_cast<std::uint8_t>(lmc_);
  route::Options engine;
  engine.scatter_seed = scatter_;
  engine.lash_start_vl = lash_start_vl_;
  engine.nue_max_num_vls = nue_max_num_vls_;
  route::OptionFiles files = files_;
  std::erase_if(files, [](const auto& file) { return file.second.empty(); });
  auto read = route::read_option_files(files, engine);
  if (!read) return tl::unexpected<Error>(std::move(read.error()));
  if (const auto lines = route::unknown_names(source.fabric, read->mentions); !lines.empty())
    return fail(ErrorKind::Usage, lines.front());
  for (const std::string& line : route::empty_files(read->mentions)) warn(line);
  options.choice.vls_max = vls_max_;
  options.choice.clock = seconds_now;
  options.choice.engine = std::move(read->options);
  // With another LMC it has another LID perhaps.
  if (!options.lmc) options.verify.sm_lid = source.sm_lid;
  return options;
}

bool EngineWords::has_tables() const {
  return named(files_, route::OptionFile::Lfts) || named(files_, route::OptionFile::LidMatrix);
}

bool EngineWords::as_it_is() const {
  const auto damage = route::read_share(damage_);
  return without_.empty() && lmc_ == kAsIs && damage && *damage == 0;
}

}  // namespace ib::tools
