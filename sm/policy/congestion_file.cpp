// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/congestion_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "libdiag/base/ids.h"
#include "libdiag/base/text.h"
#include "sm/policy/congestion_values.h"
#include "sm/policy/text_line.h"
#include "sm/policy/words.h"

namespace sm::policy {
namespace {

using Settings = CongestionSettings;
constexpr std::string_view kBlanks = " \t=";
constexpr std::uint64_t kPacketBytesMax = 0x3FC0, kPacketUnit = 64;

/// A key with a number behind it.
struct NumberKey {
  std::string_view key;
  std::string_view what;
  std::uint64_t max;
  void (*put)(Settings&, std::uint64_t);
};

template <class Change>
void of_all_sls(Settings& settings, Change&& change) {
  for (auto& entry : settings.of_ca.entries) change(entry);
}

constexpr std::array kNumbers = {
    NumberKey{"num_hosts", "a number of hosts", kCongestionHostsMax,
              [](Settings& s, std::uint64_t v) { s.num_hosts = static_cast<std::uint32_t>(v); }},
    NumberKey{
        "threshold", "a threshold", 15,
        [](Settings& s, std::uint64_t v) { s.of_switch.threshold = static_cast<std::uint8_t>(v); }},
    NumberKey{"marking_rate", "a number of packets", 0xFFFF,
              [](Settings& s, std::uint64_t v) {
                s.of_switch.marking_rate = static_cast<std::uint16_t>(v);
              }},
    NumberKey{"packet_size", "a number of bytes", kPacketBytesMax,
              [](Settings& s, std::uint64_t v) {
                s.of_switch.packet_size =
                    static_cast<std::uint8_t>((v + kPacketUnit - 1) / kPacketUnit);
              }},
    NumberKey{
        "port_control", "0 (by queue pair) or 1 (by SL): a number", 1,
        [](Settings& s, std::uint64_t v) { s.of_ca.port_control = static_cast<std::uint16_t>(v); }},
    NumberKey{
        "ca_control_map", "a mask of SLs", 0xFFFF,
        [](Settings& s, std::uint64_t v) { s.of_ca.control_map = static_cast<std::uint16_t>(v); }},
    NumberKey{"ccti_increase", "a step of the index", 0xFF,
              [](Settings& s, std::uint64_t v) {
                of_all_sls(s, [v](auto& e) { e.ccti_increase = static_cast<std::uint8_t>(v); });
              }},
    NumberKey{"trigger_threshold", "an index", 0xFF,
              [](Settings& s, std::uint64_t v) {
                of_all_sls(s, [v](auto& e) { e.trigger_threshold = static_cast<std::uint8_t>(v); });
              }},
    NumberKey{"ccti_min", "an index", 0xFF,
              [](Settings& s, std::uint64_t v) {
                of_all_sls(s, [v](auto& e) { e.ccti_min = static_cast<std::uint8_t>(v); });
              }},
    NumberKey{"ccti_timer", "a time in 1.024 us", 0xFFFF,
              [](Settings& s, std::uint64_t v) {
                s.timer_by_hosts = v == 0;
                of_all_sls(s, [v](auto& e) { e.ccti_timer = static_cast<std::uint16_t>(v); });
              }},
    NumberKey{"max_errors", "a number of errors", kCongestionHostsMax,
              [](Settings& s, std::uint64_t v) { s.max_errors = static_cast<std::uint32_t>(v); }},
    NumberKey{"error_window", "a time in seconds", kCongestionHostsMax,
              [](Settings& s, std::uint64_t v) {
                s.error_window = std::chrono::seconds(static_cast<std::int64_t>(v));
              }},
};
constexpr std::string_view kEnable = "enable", kTable = "cct";

class Parser {
 public:
  Parser(std::string_view text, const std::string& file)
      : text_(text), problems_(file, out_.diagnostics) {}

  CongestionFile run() {
    for (const Piece& line : text_lines(text_)) read(line);
    std::ranges::stable_sort(out_.diagnostics, {}, &ib::Diagnostic::place);
    return std::move(out_);
  }

 private:
  void read(const Piece& line) {
    const auto end = std::min(line.text.find_first_of(kBlanks), line.text.size());
    const Piece key = line.part(0, end);
    if (key.text.empty()) return problems_.expected("a key", line);
    Piece value = line.part(end).trimmed();
    if (value.text.starts_with('=')) value = value.part(1).trimmed();
    warn_of_repetition(key);
    if (key.text == kEnable) return read_enable(value);
    if (key.text == kTable) return read_table(value);
    const auto row = std::ranges::find(kNumbers, key.text, &NumberKey::key);
    if (row == kNumbers.end()) return say_unknown(key);
    if (const auto number = problems_.number(value, row->what, 0, row->max))
      row->put(out_.settings, *number);
  }

  void warn_of_repetition(const Piece& key) {
    const auto [at, fresh] = seen_.emplace(key.text, key.place.line);
    if (fresh) return;
    problems_.warning(key.place,
                      fmt::format("'{}' is in line {} already; this line counts",
                                  ib::printable(key.text.substr(0, kShownMax)), at->second));
    at->second = key.place.line;
  }

  void read_enable(const Piece& value) {
    const bool on = equal_words(value.text, "TRUE");
    if (!on && !equal_words(value.text, "FALSE")) return problems_.expected("TRUE or FALSE", value);
    out_.settings.enable = on;
  }

  /// Entry 0 is always 0: who saw no mark is not slowed down.
  void read_table(const Piece& value) {
    auto& settings = out_.settings;
    settings.table_by_hosts = value.text == "0";
    settings.table.clear();
    if (settings.table_by_hosts) return;
    settings.table.emplace_back();
    if (value.text.empty()) return problems_.expected(kDelayWanted, value);
    for (Piece rest = value; !rest.text.empty();) {
      const auto length = std::min(rest.text.find_first_of(", \t"), rest.text.size());
      const Piece item = rest.part(0, length);
      rest = rest.part(length).trimmed();
      if (rest.text.starts_with(',')) rest = rest.part(1).trimmed();
      const auto delay = read_congestion_delay(item.text);
      if (!delay) return problems_.expected(kDelayWanted, item);
      if (settings.table.size() == kCongestionTableMax)
        return problems_.error(item.place,
                               fmt::format("expected at most {} entries: a table has {}, the first "
                                           "of which is always 0",
                                           kCongestionTableMax - 1, kCongestionTableMax));
      settings.table.push_back(*delay);
    }
  }

  void say_unknown(const Piece& key) {
    std::vector<std::string_view> known{kEnable, kTable};
    for (const NumberKey& row : kNumbers) known.push_back(row.key);
    problems_.unknown_option(key, known);
  }

  static constexpr std::size_t kShownMax = 40;
  std::string_view text_;
  CongestionFile out_;
  Problems problems_;
  std::map<std::string_view, std::uint32_t> seen_;  // key, line
};

}  // namespace

CongestionFile read_congestion_file(std::string_view text, const std::string& file) {
  return Parser(text, file).run();
}

}  // namespace sm::policy
