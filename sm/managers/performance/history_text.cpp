// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/managers/performance/history_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "libdiag/base/text.h"
#include "libdiag/report/json.h"

namespace sm::managers::performance {
namespace {

/// One window of a port.
struct Slice {
  std::int64_t began{};
  double seconds{};  // between the last reading before it and its own last one
  bool has_ended{};
  CounterValues counts{};

  double rate(std::size_t counter) const {
    const CounterRow& row = counter_rows()[counter];
    return static_cast<double>(counts[counter]) * (is_words(row) ? 4 : 1) / seconds;
  }
};

std::vector<Slice> slices_of(const PortRecord& record, const Windows& windows) {
  std::vector<Slice> slices;
  const auto add = [&](std::int64_t began, bool has_ended, const WindowEnd& before,
                       ib::Instant read, const CounterValues& totals) {
    if (read <= before.read) return;  // one reading alone says nothing of a window
    Slice slice;
    slice.began = began;
    slice.has_ended = has_ended;
    slice.seconds = std::chrono::duration<double>(read - before.read).count();
    for (std::size_t i = 0; i < totals.size(); ++i) slice.counts[i] = totals[i] - before.totals[i];
    slices.push_back(slice);
  };
  const auto& ended = record.ended;
  for (std::size_t i = 1; i < ended.size(); ++i)
    add(ended[i].began, true, ended[i - 1], ended[i].read, ended[i].totals);
  const ib::Instant read = record.totals.last_reading();
  if (!ended.empty()) add(windows.began(read), false, ended.back(), read, record.totals.values());
  return slices;
}

std::string time_text(std::int64_t seconds) {
  const auto t = static_cast<std::time_t>(seconds);
  std::tm parts{};
  ::gmtime_r(&t, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string errors_text(const Slice& slice) {
  const auto rows = counter_rows();
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].kind != CounterKind::Data && slice.counts[i] != 0)
      text += fmt::format("{}{} +{}", text.empty() ? "" : ", ", rows[i].name, slice.counts[i]);
  return text.empty() ? "-" : text;
}

// Columns of the text: counters, and what stands above.
constexpr std::pair<std::string_view, std::string_view> kShown[] = {
    {"PortXmitData", "xmit bytes/s"},
    {"PortRcvData", "rcv bytes/s"},
    {"PortXmitPkts", "xmit pkts/s"},
    {"PortRcvPkts", "rcv pkts/s"},
};

}  // namespace

std::string history_text(const PortRecords& records, const Which& which, const Windows& windows) {
  const auto rows = counter_rows();
  std::string text;
  for (const auto& [key, record] : records) {
    if (!is_asked_for(record, which)) continue;
    text += ib::printable(record.link()) + '\n' + fmt::format("  {:<20} {:>8}", "from", "seconds");
    for (const auto& [name, head] : kShown) text += fmt::format(" {:>14}", head);
    text += "  errors\n";
    for (const Slice& slice : slices_of(record, windows)) {
      text += fmt::format("  {:<20} {:>8.0f}", time_text(slice.began), slice.seconds);
      for (const auto& [name, head] : kShown) {
        const auto row = std::ranges::find(rows, name, &CounterRow::name);
        text += fmt::format(" {:>14.0f}", slice.rate(static_cast<std::size_t>(row - rows.begin())));
      }
      text += fmt::format("  {}\n", errors_text(slice));
    }
  }
  return text;
}

std::string history_json(const PortRecords& records, const Which& which, const Windows& windows,
                         const std::string& version) {
  const auto rows = counter_rows();
  ib::report::JsonWriter json;
  ib::report::begin_document(json, {kHistorySchema, "ibsm", version, true, {}});
  json.key("ports").begin_array(ib::report::JsonWriter::Items::Lines);
  for (const auto& [key, record] : records) {
    if (!is_asked_for(record, which)) continue;
    json.begin_object();
    write_record_port(json, record);
    json.key("windows").begin_array();
    for (const Slice& slice : slices_of(record, windows)) {
      json.begin_object().field("began", slice.began).field("seconds", slice.seconds);
      json.field("ended", slice.has_ended).key("counts").begin_object();
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (slice.counts[i] != 0) json.field(rows[i].name, slice.counts[i]);
      json.end_object().key("rates").begin_object();
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i].kind == CounterKind::Data) json.field(rows[i].dump_name, slice.rate(i));
      json.end_object().end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return json.take();
}

}  // namespace sm::managers::performance
