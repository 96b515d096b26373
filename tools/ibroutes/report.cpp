// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibroutes/report.h"

#include <fmt/format.h>

#include "libdiag/base/text.h"
#include "libdiag/report/json.h"
#include "libdiag/report/shapes.h"
#include "libdiag/report/verdict.h"
#include "libdiag/report/words.h"
#include "libdiag/wire/words.h"

namespace ib::tools {
namespace {

report::JsonWriter begin(const Source& source, const char* what, const std::string& version) {
  report::JsonWriter json;
  report::begin_document(json,
                         {kRoutesSchema, "ibroutes", version, source.complete(), source.errors});
  json.field("what", what);
  return json;
}

void write_destinations(report::JsonWriter& json, const fabric::Fabric& fabric) {
  json.key("destinations").begin_array();
  for (fabric::NodeIndex n = 0; n < fabric.nodes().size(); ++n) {
    const auto& node = fabric.node(n);
    const unsigned end = node.is_switch() ? 0 : node.num_ports;
    for (unsigned p = node.is_switch() ? 0 : 1; p <= end; ++p) {
      const auto& port = fabric.port(n, p);
      if (!port.lid.is_unicast()) continue;
      json.begin_object();
      report::write_port(json, report::port_shape(fabric, {n, static_cast<std::uint8_t>(p)}));
      json.field("lmc", port.lmc).end_object();
    }
  }
  json.end_array();
}

std::string sentence_of(const VerdictReport& judged) {
  return report::routes_verdict(judged.verdict,
                                {judged.shared_lids.size(), judged.missing, judged.nothing});
}

}  // namespace

std::string tables_json(const Source& source, bool unicast, bool multicast,
                        const tables::DumpOptions& asked, const std::string& version) {
  const auto wanted = [&](std::size_t lid) {
    return lid >= asked.first.value && (asked.last.value == 0 || lid <= asked.last.value);
  };
  auto json = begin(source, "tables", version);
  json.key("switches").begin_array();
  for (const auto& table : source.tables) {
    json.begin_object()
        .field("type", "switch")
        .field("node_guid", table.guid)
        .field("name", table.name)
        .field("address", table.address)
        .field("num_ports", table.num_ports);
    if (unicast) {
      json.key("lft").begin_array();
      for (std::size_t lid = 0; lid < table.lft.size(); ++lid)
        wanted(lid) ? json.value(table.lft[lid]) : json.null();
      json.end_array();
    }
    if (multicast) {
      json.field("mft_cap", table.multicast_cap).field("mft_top", table.multicast_top);
      json.key("mft").begin_array();
      for (const auto& [mlid, mask] : table.mft) {
        if (!wanted(mlid.value)) continue;
        json.begin_object().field("mlid", mlid).key("ports").begin_array();
        for (unsigned p = 0; p < 256; ++p)
          if (mask.test(p)) json.value(p);
        json.end_array().end_object();
      }
      json.end_array();
    }
    json.end_object();
  }
  json.end_array();
  write_destinations(json, source.fabric);
  json.end_object();
  return json.take();
}

std::string dump_json(const Source& source, const std::vector<std::string>& files,
                      const std::string& version) {
  auto json = begin(source, "dump", version);
  json.key("files").begin_array();
  for (const auto& file : files) json.value(file);
  json.end_array().end_object();
  return json.take();
}

std::string verdict_text(const fabric::Fabric& fabric, const VerdictReport& judged) {
  const tables::Verdict& verdict = judged.verdict;
  std::string out = report::verdict_text(verdict);
  if (judged.uses_vls)
    out += fmt::format("vls: {}\nasymmetric-sls: {}\nvl-errors: {}\n", verdict.vls,
                       verdict.asymmetric_pairs, verdict.vl_faults);
  if (verdict.multicast != tables::MulticastVerdict::None)
    out += fmt::format("multicast: {}\nmulticast-errors: {}\n",
                       report::multicast_word(verdict.multicast), verdict.multicast_faults);
  if (judged.figures) out += report::figures_text(*judged.figures);
  for (const auto& lines : {judged.notes, tables::piece_lines(fabric, judged.pieces)})
    for (const auto& line : lines) out += "note: " + printable(line) + '\n';
  for (const auto& shared : judged.shared_lids)
    out += "error: " + shared_lid_text(fabric, shared) + '\n';
  out += report::findings_text(verdict.findings);
  return out + "verdict: " + sentence_of(judged) + '\n';
}

std::string verdict_json(const Source& source, const fabric::CompactGraph& graph,
                         const VerdictReport& judged, const std::string& version) {
  const tables::Verdict& verdict = judged.verdict;
  auto json = begin(source, "verdict", version);
  report::write_verdict(json, verdict);
  json.field("sls", judged.sls)
      .field("vls", verdict.vls)
      .field("asymmetric_sls", verdict.asymmetric_pairs)
      .field("vl_errors", verdict.vl_faults)
      .field("multicast", report::multicast_word(verdict.multicast))
      .field("multicast_errors", verdict.multicast_faults)
      .field("switch_turns_refused", verdict.switch_turns_refused)
      .field("failures", verdict.must_failures)
      .field("verdict", sentence_of(judged));
  if (judged.figures) report::write_figures(json, *judged.figures);
  json.key("notes").begin_array();
  for (const auto& line : judged.notes) json.value(line);
  json.end_array();
  report::write_pieces(json, source.fabric, judged.pieces);
  json.key("duplicate_lids").begin_array();
  for (const auto& shared : judged.shared_lids) {
    json.begin_object().field("lid", shared.lid).key("ports").begin_array();
    for (const auto at : shared.ports) {
      json.begin_object();
      report::write_port(json, report::port_shape(source.fabric, at));
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
  report::write_findings(json, source.fabric, graph, verdict.findings);
  json.end_object();
  return json.take();
}

std::string unfound_json(const Source& source, const Error& error, int status,
                         const std::string& version) {
  return report::failure_document(kRoutesSchema, "ibroutes", version, error, status, source.errors);
}

std::string path_json(const Source& source, const TablePath& path, const std::string& version) {
  auto json = begin(source, "path", version);
  json.field("dlid", path.dlid).field("arrives", path.arrives()).field("reason", path.failure);
  json.key("hops").begin_array();
  for (const PathStep& step : path.steps) {
    json.begin_object();
    report::write_hop(json, source.fabric, step.node, step.in_port, step.out_port);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

}  // namespace ib::tools
