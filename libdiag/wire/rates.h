// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Widths, speeds, rates and MTUs in one table: codes, names, Gb/s. An unknown code is Unknown,
// never SDR or 1x.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "libdiag/wire/smp_attributes.h"

namespace ib::wire {

enum class LinkWidth : std::uint8_t {
  Unknown = 0,
  W1x = 1,
  W4x = 2,
  W8x = 4,
  W12x = 8,
  W2x = 16
};  // PortInfo code
enum class LinkSpeed : std::uint8_t { Unknown, Sdr, Ddr, Qdr, Fdr10, Fdr, Edr, Hdr, Ndr, Xdr };

std::string_view width_name(LinkWidth w);  // "4x"; "??" when unknown
std::string_view speed_name(LinkSpeed s);  // "EDR"; "???" when unknown
std::optional<LinkWidth> parse_width(std::string_view text);
std::optional<LinkSpeed> parse_speed(std::string_view text);
unsigned lanes(LinkWidth w);        // 0 when unknown
double gbps_per_lane(LinkSpeed s);  // signalling rate, e.g. EDR 25.78125; 0 when unknown

LinkWidth active_width(const PortInfo& p);
/// Active speed from LinkSpeedActive, LinkSpeedExtActive(2) and, where given, the Mellanox FDR10
/// bit.
LinkSpeed active_speed(const PortInfo& p, bool fdr10_active = false);
/// Writes the fields of `p` that express an active speed or width.
void set_active_speed(PortInfo& p, LinkSpeed s);
void set_active_width(PortInfo& p, LinkWidth w);

/// SA rate code of a width and speed (IBA 15.2.5.16, table 224); nullopt where none is defined.
std::optional<std::uint8_t> rate_code(LinkWidth w, LinkSpeed s);
double rate_gbps(std::uint8_t rate_code);  // 0 when unknown
/// <0, 0, >0 as a is slower, equal, faster than b, in the order of speed (codes are not ordered).
int compare_rates(std::uint8_t a, std::uint8_t b);
std::optional<std::uint8_t> next_slower_rate(std::uint8_t rate_code);

unsigned mtu_bytes(std::uint8_t mtu_code);    // 1-5 -> 256-4096; 0 when unknown
unsigned data_vls(std::uint8_t vl_cap_code);  // 1-5 -> 1,2,4,8,15; 0 when unknown

}  // namespace ib::wire
