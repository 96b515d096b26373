// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The one table of widths, speeds and rates. Codes: IBA 14.2.5.6 (PortInfo), 15.2.5.16 (SA rates),
// and for what the public text of the specification does not show, the numbers that rdma-core and
// Linux use: LinkSpeedExtActive2 1 = XDR (libibmad), rate 25 = 1600 Gb/s (include/rdma/ib_verbs.h).
#include "libdiag/wire/rates.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace ib::wire {
namespace {

struct WidthRow {
  LinkWidth width;
  std::string_view name;
  unsigned lanes;
};
constexpr std::array kWidths{
    WidthRow{LinkWidth::W1x, "1x", 1},    WidthRow{LinkWidth::W2x, "2x", 2},
    WidthRow{LinkWidth::W4x, "4x", 4},    WidthRow{LinkWidth::W8x, "8x", 8},
    WidthRow{LinkWidth::W12x, "12x", 12},
};

/// How PortInfo expresses an active speed. Devices leave 10 Gb/s in the legacy nibble of an
/// extended speed, for readers that know nothing else.
struct SpeedRow {
  LinkSpeed speed;
  std::string_view name;
  double gbps_per_lane;
  std::uint8_t legacy, ext, ext2;
  std::array<std::uint8_t, 5> rate;  // by row of kWidths: 1x 2x 4x 8x 12x; 0 where none is defined
};
constexpr std::array kSpeeds{
    SpeedRow{LinkSpeed::Sdr, "SDR", 2.5, 1, 0, 0, {2, 5, 3, 6, 4}},
    SpeedRow{LinkSpeed::Ddr, "DDR", 5, 2, 0, 0, {5, 3, 6, 7, 8}},
    SpeedRow{LinkSpeed::Qdr, "QDR", 10, 4, 0, 0, {3, 6, 7, 9, 10}},
    SpeedRow{LinkSpeed::Fdr10, "FDR10", 10.3125, 4, 0, 0, {3, 6, 7, 9, 10}},
    SpeedRow{LinkSpeed::Fdr, "FDR", 14.0625, 4, 1, 0, {11, 19, 12, 13, 14}},
    SpeedRow{LinkSpeed::Edr, "EDR", 25.78125, 4, 2, 0, {15, 20, 16, 17, 18}},
    SpeedRow{LinkSpeed::Hdr, "HDR", 53.125, 4, 4, 0, {20, 16, 17, 21, 22}},
    SpeedRow{LinkSpeed::Ndr, "NDR", 106.25, 4, 8, 0, {16, 17, 21, 23, 24}},
    SpeedRow{LinkSpeed::Xdr, "XDR", 212.5, 4, 0, 1, {17, 21, 23, 25, 0}},
};

/// SA rate codes from slow to fast. The order is that of the data rates: 25 Gb/s with 64b/66b
/// coding carries more than 30 Gb/s with 8b/10b, 50 more than 60, 100 more than 120.
struct RateRow {
  std::uint8_t code;
  double gbps;
};
constexpr std::array kRates{
    RateRow{2, 2.5},  RateRow{5, 5},    RateRow{3, 10},    RateRow{11, 14},   RateRow{6, 20},
    RateRow{4, 30},   RateRow{15, 25},  RateRow{19, 28},   RateRow{7, 40},    RateRow{8, 60},
    RateRow{20, 50},  RateRow{12, 56},  RateRow{9, 80},    RateRow{10, 120},  RateRow{16, 100},
    RateRow{13, 112}, RateRow{14, 168}, RateRow{17, 200},  RateRow{18, 300},  RateRow{21, 400},
    RateRow{22, 600}, RateRow{23, 800}, RateRow{24, 1200}, RateRow{25, 1600},
};

const WidthRow* row_of(LinkWidth w) {
  const auto it = std::find_if(kWidths.begin(), kWidths.end(),
                               [&](const WidthRow& row) { return row.width == w; });
  return it == kWidths.end() ? nullptr : &*it;
}
const SpeedRow* row_of(LinkSpeed s) {
  const auto it = std::find_if(kSpeeds.begin(), kSpeeds.end(),
                               [&](const SpeedRow& row) { return row.speed == s; });
  return it == kSpeeds.end() ? nullptr : &*it;
}
/// Position in the order of speed; -1 when unknown.
int rank_of(std::uint8_t rate_code) {
  const auto it = std::find_if(kRates.begin(), kRates.end(),
                               [&](const RateRow& row) { return row.code == rate_code; });
  return it == kRates.end() ? -1 : static_cast<int>(it - kRates.begin());
}

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

std::optional<std::uint8_t> rate_at(int rank) {
  if (rank < 0 || rank >= static_cast<int>(kRates.size())) return std::nullopt;
  return kRates[static_cast<std::size_t>(rank)].code;
}

}  // namespace

std::string_view width_name(LinkWidth w) {
  const WidthRow* row = row_of(w);
  return row ? row->name : "??";
}

std::string_view speed_name(LinkSpeed s) {
  const SpeedRow* row = row_of(s);
  return row ? row->name : "???";
}

std::optional<LinkWidth> parse_width(std::string_view text) {
  for (const WidthRow& row : kWidths)
    if (same_word(row.name, text)) return row.width;
  return std::nullopt;
}

std::optional<LinkSpeed> parse_speed(std::string_view text) {
  for (const SpeedRow& row : kSpeeds)
    if (same_word(row.name, text)) return row.speed;
  return std::nullopt;
}

unsigned lanes(LinkWidth w) {
  const WidthRow* row = row_of(w);
  return row ? row->lanes : 0;
}

double gbps_per_lane(LinkSpeed s) {
  const SpeedRow* row = row_of(s);
  return row ? row->gbps_per_lane : 0;
}

LinkWidth active_width(const PortInfo& p) {
  const auto width = static_cast<LinkWidth>(p.link_width_active);
  return row_of(width) ? width : LinkWidth::Unknown;
}

LinkSpeed active_speed(const PortInfo& p, bool fdr10_active) {
  // Whether the extended fields are valid is said by CapabilityMask bits that a switch has only in
  // port 0's PortInfo, so they are not asked here: the bits are zero on older devices. A code that
  // is not in the table stays Unknown: taking the legacy nibble instead would show an NDR
  // successor as QDR.
  const bool extended = p.link_speed_ext_active != 0 || p.link_speed_ext_active2 != 0;
  for (const SpeedRow& row : kSpeeds) {
    if (row.speed == LinkSpeed::Fdr10) continue;
    const bool same = p.link_speed_ext_active2 != 0 ? row.ext2 == p.link_speed_ext_active2
                      : extended
                          ? row.ext == p.link_speed_ext_active
                          : row.ext == 0 && row.ext2 == 0 && row.legacy == p.link_speed_active;
    if (!same) continue;
    return row.speed == LinkSpeed::Qdr && fdr10_active ? LinkSpeed::Fdr10 : row.speed;
  }
  return LinkSpeed::Unknown;
}

void set_active_speed(PortInfo& p, LinkSpeed s) {
  const SpeedRow* row = row_of(s);
  p.link_speed_active = row ? row->legacy : std::uint8_t{0};
  p.link_speed_ext_active = row ? row->ext : std::uint8_t{0};
  p.link_speed_ext_active2 = row ? row->ext2 : std::uint8_t{0};
}

void set_active_width(PortInfo& p, LinkWidth w) {
  p.link_width_active = static_cast<std::uint8_t>(w);
}

std::optional<std::uint8_t> rate_code(LinkWidth w, LinkSpeed s) {
  const WidthRow* width = row_of(w);
  const SpeedRow* speed = row_of(s);
  if (!width || !speed) return std::nullopt;
  const std::uint8_t code = speed->rate[static_cast<std::size_t>(width - kWidths.data())];
  if (code == 0) return std::nullopt;
  return code;
}

double rate_gbps(std::uint8_t rate_code) {
  const int rank = rank_of(rate_code);
  return rank < 0 ? 0 : kRates[static_cast<std::size_t>(rank)].gbps;
}

int compare_rates(std::uint8_t a, std::uint8_t b) {
  const int left = rank_of(a), right = rank_of(b);
  return left < right ? -1 : left > right ? 1 : 0;
}

std::optional<std::uint8_t> next_slower_rate(std::uint8_t rate_code) {
  const int rank = rank_of(rate_code);
  return rank < 0 ? std::nullopt : rate_at(rank - 1);
}

unsigned mtu_bytes(std::uint8_t mtu_code) {
  return mtu_code >= 1 && mtu_code <= 5 ? 128U << mtu_code : 0;
}

unsigned data_vls(std::uint8_t vl_cap_code) {
  if (vl_cap_code < 1 || vl_cap_code > 5) return 0;
  return vl_cap_code == 5 ? 15 : 1U << (vl_cap_code - 1);
}

}  // namespace ib::wire
