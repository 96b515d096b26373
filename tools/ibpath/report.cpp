// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibpath/report.h"

#include <fmt/format.h>

#include <optional>

#include "libdiag/report/json.h"
#include "libdiag/wire/rates.h"

namespace ibpath {
namespace {

using ib::wire::LayoutOf;
using ib::wire::PathRecord;

/// Bytes of the encoded record as one number: how saquery shows fields that share bytes.
std::uint64_t raw(const PathRecord& path, std::size_t byte, std::size_t bytes) {
  std::byte encoded[LayoutOf<PathRecord>::kBytes]{};
  ib::wire::encode(path, encoded);
  std::uint64_t v = 0;
  for (std::size_t i = byte; i < byte + bytes; ++i)
    v = v << 8 | std::to_integer<std::uint64_t>(encoded[i]);
  return v;
}

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

std::string dump(const PathRecord& p) {
  std::string text = "PathRecord dump:\n";
  const auto row = [&](std::string_view name, const std::string& value) {
    text += fmt::format("\t\t{:.<24}{}\n", name, value);
  };
  const auto hex = [](std::uint64_t v) { return fmt::format("0x{:X}", v); };
  row("service_id", fmt::format("0x{:016x}", p.service_id));
  row("dgid", to_string(p.dgid));
  row("sgid", to_string(p.sgid));
  row("dlid", fmt::to_string(p.dlid.value));
  row("slid", fmt::to_string(p.slid.value));
  row("hop_flow_raw", hex(raw(p, 44, 4)));
  row("tclass", hex(p.traffic_class));
  row("num_path_revers", hex(raw(p, 49, 1)));
  row("pkey", hex(p.p_key.value));
  row("qos_class", hex(p.qos_class));
  row("sl", hex(p.sl.value));
  row("mtu", hex(raw(p, 54, 1)));
  row("rate", hex(raw(p, 55, 1)));
  row("pkt_life", hex(raw(p, 56, 1)));
  row("preference", hex(p.preference));
  row("resv2", "0x000000000000");
  return text;
}

}  // namespace

std::string text_report(std::span<const PathRecord> paths, bool explained) {
  std::string text;
  for (const auto& path : paths) {
    if (explained) text += explanation(path);
    text += dump(path);
  }
  return text;
}

std::string json_report(std::span<const PathRecord> paths, const std::string& version) {
  ib::report::JsonWriter json;
  ib::report::Envelope envelope;
  envelope.schema = kSchema;
  envelope.tool = "ibpath";
  envelope.version = version;
  ib::report::begin_document(json, envelope);
  json.key("paths").begin_array();
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
  json.end_array().end_object();
  return json.take();
}

}  // namespace ibpath
