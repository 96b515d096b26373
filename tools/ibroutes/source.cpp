// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibroutes/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "libdiag/discover/sweep.h"
#include "libdiag/fabric/node_order.h"
#include "libdiag/fabric/text_file.h"
#include "libdiag/fabric/topology_gaps.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/tables/names.h"
#include "libdiag/tables/subnet_lst.h"
#include "tools/ibroutes/sl2vl_reader.h"

namespace ib::tools {
namespace {

/// The switch that is alone asked for.
Result<fabric::NodeIndex> find_switch(const fabric::Fabric& fabric, const std::string& name,
                                      const fabric::NodeNames& names) {
  const auto node = fabric::find_node(fabric, name, &names);
  if (!node) return tl::unexpected<Error>(node.error());
  if (!fabric.node(*node).is_switch()) return fail(ErrorKind::Usage, name + " is not a switch");
  return *node;
}

Result<fabric::NodeNames> read_names(const std::string& map_file) {
  return fabric::NodeNames::read_file_or_default(map_file);
}

/// Tables of the other kind are no empty tables of the kind that is asked for.
Result<void> check_kind(const std::vector<tables::SwitchTables>& tables,
                        const TableReaderOptions& wanted, const std::string& file) {
  const auto any = [&](auto has) { return std::any_of(tables.begin(), tables.end(), has); };
  const bool unicast = any([](const auto& table) { return !table.lft.empty(); });
  const bool multicast = any([](const auto& table) { return !table.mft.empty(); });
  if (!wanted.unicast && unicast && !multicast)
    return fail(ErrorKind::Usage, file + ": expected multicast tables, got unicast ones alone");
  if (!wanted.multicast && multicast && !unicast)
    return fail(ErrorKind::Usage, file + ": expected unicast tables, got multicast ones alone");
  return {};
}

/// "A", or "A and 12 more".
std::string first_of(const std::vector<std::string>& names) {
  return names.size() == 1 ? names.front()
                           : fmt::format("{} and {} more", names.front(), names.size() - 1);
}

}  // namespace

std::string Source::missing() const {
  if (!gaps.empty() || errors.empty()) return gaps;
  return "some of the fabric or its tables is unknown";
}

Result<Source> load_live(Connection& connection, const LoadOptions& options) {
  auto names = read_names(options.node_name_map);
  if (!names) return tl::unexpected<Error>(std::move(names.error()));
  const std::uint64_t m_key = options.tables.m_key;
  discover::SweepOptions sweep_options;
  sweep_options.m_key = [m_key](Guid) { return m_key; };
  discover::Sweep sweep(sweep_options);
  if (auto ran = connection.session().run(sweep); !ran)
    return tl::unexpected<Error>(std::move(ran.error()));
  const discover::Observed observed = sweep.take_observed();

  const auto& here = connection.facts();
  if (here.state == wire::PortState::Down && observed.nodes.size() <= 1)
    return fail(ErrorKind::Unavailable, fmt::format("port {}/{} is DOWN: there is no fabric to ask",
                                                    here.device, here.port_num));

  Source source;
  source.names = std::move(*names);
  source.sm_lid = here.sm_lid;
  source.unseen = !observed.troubles.empty();
  for (const auto& trouble : observed.troubles) source.errors.push_back(trouble.message);
  TableReaderOptions tables = options.tables;
  if (!options.only.empty()) {
    const auto node = find_switch(observed.fabric, options.only, source.names);
    if (!node) {
      source.unfound = node.error();
      return source;
    }
    tables.only = *node;
  }
  TableReader reader(observed, tables);
  if (auto ran = connection.session().run(reader); !ran)
    return tl::unexpected<Error>(std::move(ran.error()));
  source.errors.insert(source.errors.end(), reader.errors().begin(), reader.errors().end());
  source.tables = reader.take_tables();
  if (options.sl2vl) {
    Sl2VlReader sl2vl(observed, m_key);
    if (auto ran = connection.session().run(sl2vl); !ran)
      return tl::unexpected<Error>(std::move(ran.error()));
    source.sl_to_vl = sl2vl.tables(fabric::CompactGraph(observed.fabric));
    source.errors.insert(source.errors.end(), sl2vl.errors().begin(), sl2vl.errors().end());
  }
  source.fabric = observed.fabric;
  if (options.path_sls)
    source.path_sls = read_path_sls(connection.session(), connection.facts(),
                                    fabric::CompactGraph(source.fabric));
  return source;
}

Result<Source> load_files(const std::string& topology_path, const std::string& tables_path,
                          const LoadOptions& options) {
  if (options.sl2vl)
    return fail(ErrorKind::Usage,
                "--sl2vl without FILE reads the live fabric, but a saved topology was given");
  auto text = fabric::read_file_or_pipe(topology_path);
  if (!text) return tl::unexpected<Error>(std::move(text.error()));
  Source source;
  auto fabric = tables::looks_like_subnet_lst(*text)
                    ? tables::read_subnet_lst(*text, topology_path)
                    : fabric::read_topology(*text, topology_path, &source.warnings);
  if (!fabric) return tl::unexpected<Error>(std::move(fabric.error()));
  auto tables = tables::read_tables_file(tables_path);
  if (!tables) return tl::unexpected<Error>(std::move(tables.error()));
  if (auto known = check_kind(*tables, options.tables, tables_path); !known)
    return tl::unexpected<Error>(std::move(known.error()));

  auto names = read_names(options.node_name_map);
  if (!names) return tl::unexpected<Error>(std::move(names.error()));

  auto gaps = fabric::take_gaps(source.warnings);
  source.gaps = std::move(gaps.summary);
  source.errors = std::move(gaps.lines);
  source.names = std::move(*names);
  // As a sweep has them: what engines make of it must not depend on the file.
  source.fabric = fabric::sorted_by_guid(*fabric);
  std::map<Guid, std::size_t> by_guid;
  for (std::size_t i = 0; i < tables->size(); ++i) by_guid.emplace((*tables)[i].guid, i);
  const auto nodes = source.fabric.nodes();
  std::vector<std::string> without;
  for (fabric::NodeIndex n = 0; n < nodes.size(); ++n) {
    if (!nodes[n].is_switch()) continue;
    const auto at = by_guid.find(nodes[n].guid);
    if (at == by_guid.end()) {
      without.push_back(tables::node_name(source.fabric, n));
      continue;
    }
    auto& table = (*tables)[at->second];
    table.num_ports = nodes[n].num_ports;
    table.name = nodes[n].description;
    by_guid.erase(at);
  }
  // One line each, however many they are: a file that is cut lacks them all.
  if (!without.empty()) source.errors.push_back("no table of " + first_of(without));
  if (!by_guid.empty()) {
    std::vector<std::string> guids;
    for (const auto& [guid, index] : by_guid) guids.push_back(to_string(guid));
    source.errors.push_back("the topology has no switch " + first_of(guids));
  }
  source.tables = std::move(*tables);
  if (!options.only.empty()) {
    const auto node = find_switch(source.fabric, options.only, source.names);
    if (!node) return tl::unexpected<Error>(node.error());
    const Guid guid = source.fabric.node(*node).guid;
    std::erase_if(source.tables, [&](const auto& table) { return table.guid != guid; });
  }
  return source;
}

void apply_names(Source& source) {
  source.names.name_all(source.fabric);
  for (auto& table : source.tables)
    if (const auto name = source.names.find(table.guid)) table.name = *name;
}

}  // namespace ib::tools
