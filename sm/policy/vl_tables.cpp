// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/vl_tables.h"

#include <fmt/format.h>

#include "libdiag/base/ids.h"
#include "libdiag/base/text.h"

namespace sm::policy {
namespace {

constexpr std::uint64_t kVlMax = 15, kDataVlMax = 14, kWeightMax = 255;
constexpr std::size_t kEntriesMax = 64;
constexpr std::uint8_t kWeight = 4;  // 256 bytes

/// The parts between commas, without the empty one behind a trailing comma.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  if (ib::trim(text).empty()) return parts;
  for (const std::string_view part : ib::split(text, ',')) parts.push_back(ib::trim(part));
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

tl::unexpected<ib::Error> wrong(std::size_t entry, std::string_view expected,
                                std::string_view got) {
  return ib::fail(ib::ErrorKind::Usage, fmt::format("entry {}: expected {}, got '{}'", entry + 1,
                                                    expected, ib::printable(got.substr(0, 40))));
}

}  // namespace

VlArbitrationTemplate default_vl_arbitration_high() {
  VlArbitrationTemplate table{{0, kWeight}};
  for (std::uint8_t vl = 1; vl <= kDataVlMax; ++vl) table.push_back({vl, 0});
  return table;
}

VlArbitrationTemplate default_vl_arbitration_low() {
  VlArbitrationTemplate table{{0, 0}};
  for (std::uint8_t vl = 1; vl <= kDataVlMax; ++vl) table.push_back({vl, kWeight});
  return table;
}

ib::Result<std::vector<std::uint8_t>> read_sl_to_vl(std::string_view text) {
  std::vector<std::uint8_t> table;
  const auto parts = parts_of(text);
  if (parts.empty()) return ib::fail(ib::ErrorKind::Usage, "expected a list of VLs, got nothing");
  for (std::size_t sl = 0; sl < parts.size(); ++sl) {
    std::uint64_t vl = 0;
    if (sl == SlToVlTemplate{}.size())
      return wrong(sl, "no more than 16 VLs, one for each SL", parts[sl]);
    if (!ib::parse_number(parts[sl], kVlMax, vl))
      return wrong(sl, "a VL from 0 to 15 (15 drops the SL)", parts[sl]);
    table.push_back(static_cast<std::uint8_t>(vl));
  }
  return table;
}

ib::Result<VlArbitrationTemplate> read_vl_arbitration(std::string_view text) {
  VlArbitrationTemplate table;
  const auto parts = parts_of(text);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i == kEntriesMax) return wrong(i, "no more than 64 entries", parts[i]);
    const auto colon = parts[i].find(':');
    std::uint64_t vl = 0, weight = 0;
    const bool good = colon != std::string_view::npos &&
                      ib::parse_number(ib::trim(parts[i].substr(0, colon)), kDataVlMax, vl) &&
                      ib::parse_number(ib::trim(parts[i].substr(colon + 1)), kWeightMax, weight);
    if (!good)
      return wrong(i, "VL:weight with a VL from 0 to 14 and a weight from 0 to 255", parts[i]);
    table.push_back({static_cast<std::uint8_t>(vl), static_cast<std::uint8_t>(weight)});
  }
  return table;
}

}  // namespace sm::policy
