// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/chain_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "sm/config/chain_files.h"
#include "sm/config/configuration.h"
#include "sm/config/routing.h"
#include "sm/config/table.h"
#include "sm/config/value.h"
#include "sm/daemon/operator_file.h"
#include "sm/policy/port_group_file.h"

namespace sm::daemon {
namespace {

using config::Settings;
using ib::route::Chain;

/// Keys of an options file of a step that count there: what engines use.
constexpr std::string_view kOfSteps[] = {
    "root_guid_file",   "cn_guid_file",
    "io_guid_file",     "ids_guid_file",
    "hop_weights_file", "port_prof_ignore_file",
    "torus_config",     "port_search_ordering_file",
    "lfts_file",        "guid_routing_order_file",
    "scatter_ports",    "lid_matrix_dump_file",
    "lash_start_vl",    "nue_max_num_vls",
    "connect_roots",    "max_reverse_hops",
    "do_mesh_analysis", "nue_include_switches",
};

/// Of the nodes that port groups name.
ib::route::Mentions mentions_of(const ib::fabric::PortGroups& groups, const std::string& file) {
  ib::route::Mentions out{file, {}, {}};
  for (const auto& group : groups.defined())
    for (const auto& rule : group.rules)
      if (const auto* guids = std::get_if<ib::fabric::GuidRule>(&rule))
        for (const auto& ports : guids->of) {
          std::vector<std::uint8_t> numbers;
          for (unsigned p = 1; ports.only && p < ports.only->size(); ++p)
            if (ports.only->test(p)) numbers.push_back(static_cast<std::uint8_t>(p));
          out.places.push_back(
              {ib::route::Mention::Means::SwitchOrHost, ports.guid, ports.line, numbers});
        }
  return out;
}

class Reader {
 public:
  explicit Reader(const Settings& settings) : s_(settings) {}

  ib::Result<ReadChain> run() {
    Chain chain;
    chain.file = s_.rch_policy_file;
    chain.allow_credit_loops = s_.allow_credit_loops;
    if (!s_.topo_policy_file.empty()) {
      if (auto done = read_groups(chain); !done)
        return tl::unexpected<ib::Error>(std::move(done.error()));
      if (auto done = read_topologies(chain); !done)
        return tl::unexpected<ib::Error>(std::move(done.error()));
    }
    if (s_.rch_policy_file.empty()) return std::move(out_);
    if (auto done = read_steps(chain); !done)
      return tl::unexpected<ib::Error>(std::move(done.error()));
    out_.chain = std::make_shared<const Chain>(std::move(chain));
    return std::move(out_);
  }

 private:
  /// What `use(text)` makes of a file. It may have diagnostics.
  template <class Use>
  ib::Result<void> read(const std::string& path, const std::string& what, std::string& all,
                        Use use) {
    const auto text = read_operator_file(path);
    if (!text) return tl::unexpected<ib::Error>(text.error());
    const std::vector<ib::Diagnostic> diagnostics = use(*text);
    if (ib::has_errors(diagnostics)) return refused(what + " of " + path, *text, diagnostics);
    std::ranges::move(shown(diagnostics, *text), std::back_inserter(out_.warnings));
    all += *text + '\n';
    return {};
  }

  ib::Result<void> read_groups(Chain& chain) {
    const std::string& path = s_.pgrp_policy_file;
    if (path.empty()) return {};
    return read(path, "the port groups", chain.text, [&](const std::string& text) {
      auto file = policy::read_port_group_file(text, path);
      chain.groups = std::move(file.groups);
      out_.mentions.push_back(mentions_of(chain.groups, path));
      return file.diagnostics;
    });
  }

  ib::Result<void> read_topologies(Chain& chain) {
    const std::string& path = s_.topo_policy_file;
    return read(path, "the topologies", chain.text, [&](const std::string& text) {
      auto file = config::read_topology_file(text, path, chain.groups, s_.pgrp_policy_file);
      chain.topologies = std::move(file.topologies);
      return file.diagnostics;
    });
  }

  ib::Result<void> read_steps(Chain& chain) {
    const std::string& path = s_.rch_policy_file;
    auto done = read(path, "the routing chain", chain.text, [&](const std::string& text) {
      auto file = config::read_chain_file(text, path, chain.topologies, s_.topo_policy_file);
      chain.steps = std::move(file.steps);
      return file.diagnostics;
    });
    if (!done) return done;
    std::map<std::string, std::shared_ptr<const ib::route::Options>> known;
    for (ib::route::ChainStep& step : chain.steps) {
      if (step.path_bit >> s_.lmc != 0)
        out_.warnings.push_back(fmt::format(
            "{}:{}: step {} routes no host: with lmc {} ports have no LID of path-bit {}", path,
            step.line, step.id, s_.lmc, step.path_bit));
      if (step.config.empty()) continue;
      const auto [at, fresh] = known.try_emplace(step.config);
      if (fresh) {
        auto options = read_options(step.config);
        if (!options) return tl::unexpected<ib::Error>(std::move(options.error()));
        at->second = *std::move(options);
      }
      step.options = at->second;
    }
    return {};
  }

  /// Those in force, but for what the file says.
  ib::Result<std::shared_ptr<const ib::route::Options>> read_options(const std::string& path) {
    config::Configuration configuration;
    configuration.settings = s_;
    std::string text;
    auto done = read(path, "the options", text, [&](const std::string& file) {
      std::vector<ib::Diagnostic> problems;
      config::read_options_text(file, path, configuration, problems);
      return problems;
    });
    if (!done) return tl::unexpected<ib::Error>(std::move(done.error()));
    warn_of_others(configuration, path);
    auto [choice, files] = config::routing(configuration.settings);
    auto read = ib::route::read_option_files(files, choice.engine);
    if (!read) return tl::unexpected<ib::Error>(std::move(read.error()));
    std::ranges::move(read->mentions, std::back_inserter(out_.mentions));
    return std::make_shared<const ib::route::Options>(std::move(read->options));
  }

  /// Of keys that say something else than the options in force and do not count in this file.
  void warn_of_others(const config::Configuration& of, const std::string& path) {
    std::string names;
    for (const config::Row& row : config::table()) {
      const auto origin = of.origin(row);
      if (origin.from != config::Origin::From::File || row.field.index() == 0 ||
          std::ranges::find(kOfSteps, row.key()) != std::end(kOfSteps) ||
          config::value_text(row, of.settings) == config::value_text(row, s_))
        continue;
      names += fmt::format("{}{} (line {})", names.empty() ? "" : ", ", row.key(), origin.line);
    }
    if (!names.empty())
      out_.warnings.push_back(path + ": counts in the main options file alone: " + names);
  }

  const Settings& s_;
  ReadChain out_;
};

}  // namespace

ib::Result<ReadChain> read_chain(const Settings& settings) { return Reader(settings).run(); }

}  // namespace sm::daemon
