// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/managers/performance/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "libdiag/base/text.h"

namespace sm::managers::performance {
namespace {

/// As ctime(3) has it, without the line end.
std::string date(const Clock& clock, ib::Instant t) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(clock.at(t));
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &parts)};
}

bool is_error(const CounterRow& row) { return row.kind != CounterKind::Data; }

bool has_errors(const PortRecord& record) {
  const auto rows = counter_rows();
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (is_error(rows[i]) && record.totals.values()[i] != 0) return true;
  return false;
}

/// " (1.234GB)": words of 4 bytes, or packets, with a unit by 1024.
std::string rounded(std::uint64_t value, bool words) {
  constexpr std::string_view kUnits[] = {"", "K", "M", "G", "T", "P", "E"};
  constexpr double kStep = 1024;
  double shown = static_cast<double>(value) * (words ? 4 : 1);
  std::size_t unit = 0;
  for (; shown >= kStep && unit + 1 < std::size(kUnits); ++unit) shown /= kStep;
  return fmt::format(" ({:.3f}{}{})", shown, kUnits[unit], words ? "B" : "");
}

std::string block(const PortRecord& record, const Which& which, const Clock& clock) {
  const auto rows = counter_rows();
  const auto& totals = record.totals;
  std::string text =
      fmt::format("\"{}\" 0x{:x} active {} port {}\n", ib::printable(record.node_name),
                  record.node_guid.value, record.active ? "TRUE" : "FALSE", record.port);
  const auto line = [&](std::string_view what, std::string_view value) {
    text += fmt::format("     {:<21}: {}\n", what, value);
  };
  line("Last Reset", date(clock, totals.last_reset()));
  line("Last Error Update", date(clock, totals.last_reading()));
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (is_error(rows[i]) && !rows[i].dump_name.empty() &&
        (!which.errors_only || totals.values()[i] != 0)) {
      const bool integrity = rows[i].dump_name == "link_int_err";
      line(integrity ? "link_integrity_err" : rows[i].dump_name,
           std::to_string(totals.values()[i]));
    }
  if (which.errors_only) return text;
  line("Last Data Update", date(clock, totals.last_reading()));
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!is_error(rows[i]))
      line(rows[i].dump_name,
           std::to_string(totals.values()[i]) + rounded(totals.values()[i], is_words(rows[i])));
  return text;
}

}  // namespace

bool is_words(const CounterRow& row) { return row.name.ends_with("Data"); }

bool is_asked_for(const PortRecord& record, const Which& which) {
  if (which.port >= 0 && record.port != which.port) return false;
  if (which.errors_only && !has_errors(record)) return false;
  return !which.node || record.node_guid == *which.node;
}

std::string counters_text(const PortRecords& records, const Which& which, const Clock& clock) {
  std::string text;
  for (const auto& [key, record] : records)
    if (is_asked_for(record, which)) text += block(record, which, clock);
  return text;
}

std::string counters_table(const PortRecords& records, const Clock& clock) {
  const auto rows = counter_rows();
  std::string text;
  const PortRecord* before = nullptr;
  for (const auto& [key, record] : records) {
    if (before == nullptr || before->node_guid != record.node_guid) {
      text += "\nName\tGUID\tActive\tPort\tLast Reset\tLast Error Update\tLast Data Update";
      for (const CounterRow& row : rows)
        if (!row.dump_name.empty()) text += fmt::format("\t{}", row.dump_name);
      text += '\n';
    }
    before = &record;
    const auto& totals = record.totals;
    const std::string read = date(clock, totals.last_reading());
    text += fmt::format("{}\t0x{:x}\t{}\t{}\t{}\t{}\t{}", ib::printable(record.node_name),
                        record.node_guid.value, record.active ? "TRUE" : "FALSE", record.port,
                        date(clock, totals.last_reset()), read, read);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!rows[i].dump_name.empty()) text += fmt::format("\t{}", totals.values()[i]);
    text += '\n';
  }
  return text;
}

void write_record_port(ib::report::JsonWriter& json, const PortRecord& record) {
  ib::report::write_port(json, record.here);
  json.key("peer");
  if (record.there) {
    json.begin_object();
    ib::report::write_port(json, *record.there);
    json.end_object();
  } else {
    json.null();
  }
  json.field("active", record.active);
}

std::string counters_json(const PortRecords& records, const Which& which, const Clock& clock,
                          const std::string& version) {
  const auto rows = counter_rows();
  ib::report::JsonWriter json;
  ib::report::begin_document(json, {kCountersSchema, "ibsm", version, true, {}});
  json.key("ports").begin_array(ib::report::JsonWriter::Items::Lines);
  for (const auto& [key, record] : records) {
    if (!is_asked_for(record, which)) continue;
    const auto& totals = record.totals;
    const double seconds = std::chrono::duration<double>(totals.period()).count();
    json.begin_object();
    write_record_port(json, record);
    json.field("read", std::chrono::duration_cast<std::chrono::seconds>(
                           clock.at(totals.last_reading()).time_since_epoch())
                           .count());
    json.key("counters").begin_object();
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!which.errors_only || (is_error(rows[i]) && totals.values()[i] != 0))
        json.field(rows[i].name, totals.values()[i]);
    json.end_object();
    json.key("rates").begin_object();
    if (seconds > 0)
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (is_error(rows[i])) continue;
        const auto more = static_cast<double>(totals.increase()[i]);
        json.field(rows[i].dump_name, more * (is_words(rows[i]) ? 4 : 1) / seconds);
      }
    json.end_object();
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.take();
}

}  // namespace sm::managers::performance
