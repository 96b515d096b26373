// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/report/engine_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "libdiag/base/text.h"

namespace ib::report {
namespace {

/// Hops between switches beyond the least there could be, on average.
double extra_hops(const tables::Figures& figures) {
  return std::max(0.0, figures.hops_mean - figures.hops_least_mean);
}

constexpr std::array<const char*, 11> kColumns{
    "engine",   "result",    "unreachable", "loops",   "credit loops", "VLs",
    "load max", "load mean", "extra hops",  "at most", "seconds"};
using Cells = std::array<std::string, kColumns.size()>;

Cells cells_of(const route::Tried& row) {
  Cells cells;
  cells.fill("-");
  cells[0] = row.engine;
  cells[1] = result_of(row);
  if (row.seconds) cells[10] = fmt::format("{:.3f}", *row.seconds);
  if (!row.verdict) return cells;
  const auto& v = *row.verdict;
  cells[2] = std::to_string(v.unreachable);
  cells[3] = std::to_string(v.loops);
  cells[4] = std::to_string(v.credit_loop_channels);
  cells[5] = std::to_string(row.vls_used);
  cells[6] = std::to_string(v.load_max);
  cells[7] = fmt::format("{:.1f}", v.load_mean);
  if (!row.figures) return cells;
  cells[8] = fmt::format("{:.3f}", extra_hops(*row.figures));
  cells[9] = std::to_string(row.figures->extra_hops_max);
  return cells;
}

}  // namespace

const char* result_of(const route::Tried& row) {
  if (!row.verdict) return "not applicable";
  if (!row.passed) return "rejected";
  if (row.verdict->credit_loop_channels != 0) return "can deadlock";
  return row.verdict->unreachable == 0 ? "verified" : "switches missed";
}

std::string engine_table(std::span<const route::Tried> rows) {
  std::vector<Cells> lines(1);
  std::copy(kColumns.begin(), kColumns.end(), lines[0].begin());
  for (const auto& row : rows) lines.push_back(cells_of(row));
  std::array<std::size_t, kColumns.size()> widths{};
  for (const Cells& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  std::string out;
  for (const Cells& line : lines) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i)
      text += i < 2 ? fmt::format("{:<{}}  ", line[i], widths[i])
                    : fmt::format("{:>{}}{}", line[i], widths[i], i + 1 < line.size() ? "  " : "");
    out += text + '\n';
  }
  if (std::any_of(rows.begin(), rows.end(), [](const auto& row) { return !row.passed; }))
    out += '\n';
  for (const auto& row : rows)
    if (!row.passed)
      out += fmt::format("{} {}: {}\n", row.engine,
                         row.verdict ? "is rejected" : "is not applicable", printable(row.why));
  return out;
}

std::optional<double> to_milliseconds(std::optional<double> seconds) {
  return seconds ? std::optional(std::round(*seconds * 1000) / 1000) : std::nullopt;
}

void write_engines(JsonWriter& json, std::span<const route::Tried> rows) {
  json.key("engines").begin_array();
  for (const auto& row : rows) {
    json.begin_object()
        .field("engine", row.engine)
        .field("result", result_of(row))
        .field("passed", row.passed)
        .field("reason", row.why)
        .field("seconds", to_milliseconds(row.seconds));
    if (row.verdict) {
      const auto& v = *row.verdict;
      json.field("vls", row.vls_used)
          .field("unreachable", v.unreachable)
          .field("loops", v.loops)
          .field("credit_loop_channels", v.credit_loop_channels)
          .field("load_max", v.load_max)
          .field("load_mean", v.load_mean);
      if (row.figures)
        json.field("extra_hops_mean", extra_hops(*row.figures))
            .field("extra_hops_max", row.figures->extra_hops_max);
    }
    json.end_object();
  }
  json.end_array();
}

}  // namespace ib::report
