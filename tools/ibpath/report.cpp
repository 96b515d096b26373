// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibpath/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "libdiag/base/text.h"
#include "libdiag/report/json.h"
#include "libdiag/wire/rates.h"

namespace ibpath {
namespace {

using ib::wire::PathRecord;

double life_us(const PathRecord& path) {
  constexpr double kUnitUs = 4.096;
  return kUnitUs * static_cast<double>(std::uint64_t{1} << path.packet_life);
}

/// 0 is how the table of rates says that it does not know a code.
template <class T>
std::optional<T> known(T value) {
  return value > 0 ? std::optional<T>(value) : std::nullopt;
}

/// MTU and rate in words; a code that nobody knows stays a code.
std::string explanation(const PathRecord& p) {
  const auto mtu = ib::wire::mtu_bytes(p.mtu);
  const auto rate = ib::wire::rate_gbps(p.rate);
  return fmt::format("# LID {} -> LID {}: MTU {}, {}, SL {}, P_Key 0x{:04x}, {}\n", p.slid.value,
                     p.dlid.value, mtu != 0 ? fmt::to_string(mtu) : fmt::format("code {}", p.mtu),
                     rate > 0 ? fmt::format("{} Gb/s", rate) : fmt::format("rate code {}", p.rate),
                     p.sl.value, p.p_key.value, p.reversible ? "reversible" : "not reversible");
}

void begin(ib::report::JsonWriter& json, const std::string& version,
           std::vector<std::string> errors = {}) {
  ib::report::Envelope envelope;
  envelope.complete = errors.empty();
  envelope.errors = std::move(errors);
  envelope.schema = kSchema;
  envelope.tool = kProgram;
  envelope.version = version;
  ib::report::begin_document(json, envelope);
}

using Tree = nlohmann::ordered_json;

std::string document_of(std::string_view record, const std::vector<Tree>& records,
                        const std::string& version) {
  ib::report::JsonWriter json;
  begin(json, version);
  json.field("record", record).key("records").begin_array(ib::report::JsonWriter::Items::Lines);
  for (const Tree& tree : records) json.tree(tree);
  json.end_array().end_object();
  return json.take();
}

void write_paths(ib::report::JsonWriter& json, std::span<const PathRecord> paths) {
  json.begin_array();
  for (const auto& p : paths) {
    json.begin_object();
    json.field("slid", p.slid).field("dlid", p.dlid);
    json.field("sgid", to_string(p.sgid)).field("dgid", to_string(p.dgid));
    json.field("p_key", fmt::format("0x{:04x}", p.p_key.value)).field("sl", p.sl.value);
    json.field("mtu", known(ib::wire::mtu_bytes(p.mtu))).field("mtu_code", p.mtu);
    json.field("rate_gbps", known(ib::wire::rate_gbps(p.rate))).field("rate_code", p.rate);
    json.field("packet_life_us", life_us(p)).field("packet_life_code", p.packet_life);
    json.field("reversible", p.reversible).field("numb_path", p.numb_path);
    json.field("hop_limit", p.hop_limit).field("traffic_class", p.traffic_class);
    json.field("flow_label", p.flow_label).field("qos_class", p.qos_class);
    json.field("service_id", fmt::format("0x{:016x}", p.service_id));
    json.field("preference", p.preference);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string text_report(std::span<const PathRecord> paths, bool explained) {
  std::string text;
  for (const auto& path : paths) {
    if (explained) text += explanation(path);
    text += record_text(path, TextOptions{});
  }
  return text;
}

std::string json_report(std::span<const PathRecord> paths, const std::string& version) {
  ib::report::JsonWriter json;
  begin(json, version);
  json.key("paths");
  write_paths(json, paths);
  json.end_object();
  return json.take();
}

std::string text_batch_answer(const BatchAnswer& answer, bool explained) {
  std::string text = fmt::format("# {} {} -> {}", answer.line, ib::printable(answer.source),
                                 ib::printable(answer.destination));
  if (!answer.error.empty()) {
    text += ": " + answer.error;
  } else if (answer.paths.empty()) {
    text += ": no path";
  }
  return text + "\n" + text_report(answer.paths, explained);
}

std::string json_batch(std::span<const BatchAnswer> answers, const std::string& version) {
  std::vector<std::string> errors;
  for (const auto& answer : answers)
    if (answer.unanswered) errors.push_back(fmt::format("line {}: {}", answer.line, answer.error));
  ib::report::JsonWriter json;
  begin(json, version, errors);
  json.key("pairs").begin_array(ib::report::JsonWriter::Items::Lines);
  for (const auto& answer : answers) {
    json.begin_object().field("line", answer.line).field("source", answer.source);
    json.field("destination", answer.destination).key("paths");
    write_paths(json, answer.paths);
    json.key("error");
    if (answer.error.empty()) {
      json.null();
    } else {
      json.value(answer.error);
    }
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

std::string json_records(std::string_view record, const ib::wire::StructureInfo& structure,
                         std::span<const std::span<const std::byte>> records, bool keys,
                         const std::string& version) {
  std::vector<Tree> trees;
  trees.reserve(records.size());
  for (const auto bytes : records)
    trees.push_back(Tree::parse(ib::wire::to_json(structure, bytes, {keys})));
  return document_of(record, trees, version);
}

std::string json_members(std::span<const ib::wire::McMemberRecord> members,
                         const std::string& version) {
  std::vector<Tree> trees;
  trees.reserve(members.size());
  for (const auto& member : members) {
    auto tree = Tree::parse(ib::wire::to_json(ib::wire::describe<ib::wire::McMemberRecord>(),
                                              ib::wire::bytes_of(member), {}));
    if (!is_member_shown(member))
      for (const auto name : {"PortGID", "JoinState", "ProxyJoin"}) tree.at(name) = nullptr;
    trees.push_back(std::move(tree));
  }
  return document_of("MCMemberRecord", trees, version);
}

}  // namespace ibpath
