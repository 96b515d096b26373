// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Congestion control, class 0x21, version 2 (IBA annex A10): how switches mark packets and how
// channel adapters slow down when marks come back. Where the annex and its errata leave a doubt
// (the place of the log, elements in a block of switch ports) this is as ibccquery(8) reads it.
#pragma once

#include "libdiag/wire/mad.h"

namespace ib::wire {

namespace attr {
inline constexpr std::uint16_t kCongestionInfo = 0x0011, kCongestionKeyInfo = 0x0012,
                               kCongestionLog = 0x0013, kSwitchCongestionSetting = 0x0014,
                               kSwitchPortCongestionSetting = 0x0015, kCaCongestionSetting = 0x0016,
                               kCongestionControlTable = 0x0017, kTimeStamp = 0x0018;
}  // namespace attr

/// What a MAD of the class carries behind the common header: the key, then 32 bytes that only the
/// log uses, then the attribute.
struct CongestionHeader {
  std::uint64_t cc_key{};
  friend bool operator==(const CongestionHeader&, const CongestionHeader&) = default;
};
template <>
struct LayoutOf<CongestionHeader>
    : Layout<"CCHeader", "IBA annex A10", 32,
             Field<&CongestionHeader::cc_key, at(24), 64, "CC_Key", Show::Secret>> {};
/// CongestionLog begins here, and not where the other attributes do.
inline constexpr std::size_t kCongestionLogOffset = 32, kCongestionLogBytes = 224;

struct CongestionInfo {
  std::uint16_t congestion_info{};   // bit 0: a switch that can mark on credit starvation
  std::uint8_t control_table_cap{};  // of a CA: blocks of 64 entries
  friend bool operator==(const CongestionInfo&, const CongestionInfo&) = default;
};
template <>
struct LayoutOf<CongestionInfo>
    : Layout<"CongestionInfo", "IBA annex A10", 4,
             Field<&CongestionInfo::congestion_info, at(0), 16, "CongestionInfo", Show::Hex>,
             Field<&CongestionInfo::control_table_cap, at(2), 8, "ControlTableCap">> {};
inline constexpr std::uint16_t kCreditStarvation = 1;

struct CongestionKeyInfo {
  std::uint64_t cc_key{};
  bool protect{};                // a Get without the key shows 0 for it
  std::uint16_t lease_period{};  // seconds; 0: for ever
  std::uint16_t violations{};    // a Set of 0 clears it, of anything else leaves it
  friend bool operator==(const CongestionKeyInfo&, const CongestionKeyInfo&) = default;
};
template <>
struct LayoutOf<CongestionKeyInfo>
    : Layout<"CongestionKeyInfo", "IBA annex A10", 16,
             Field<&CongestionKeyInfo::cc_key, at(0), 64, "CC_Key", Show::Secret>,
             Field<&CongestionKeyInfo::protect, at(8), 1, "CC_KeyProtectBit">,
             Field<&CongestionKeyInfo::lease_period, at(10), 16, "CC_KeyLeasePeriod">,
             Field<&CongestionKeyInfo::violations, at(12), 16, "CC_KeyViolations">> {};

/// A packet that a switch marked.
struct SwitchCongestionEvent {
  Lid slid{};
  Lid dlid{};
  Sl sl{};
  std::uint32_t timestamp{};  // 1.024 us
  friend bool operator==(const SwitchCongestionEvent&, const SwitchCongestionEvent&) = default;
};
template <>
struct LayoutOf<SwitchCongestionEvent>
    : Layout<"CongestionLogEntrySwitch", "IBA annex A10", 12,
             Field<&SwitchCongestionEvent::slid, at(0), 16, "SLID">,
             Field<&SwitchCongestionEvent::dlid, at(2), 16, "DLID">,
             Field<&SwitchCongestionEvent::sl, at(4), 4, "SL">,
             Field<&SwitchCongestionEvent::timestamp, at(8), 32, "Timestamp">> {};

inline constexpr std::uint8_t kCongestionLogSwitch = 1, kCongestionLogCa = 2;  // LogType

struct SwitchCongestionLog {
  std::uint8_t log_type{kCongestionLogSwitch};
  std::uint8_t congestion_flags{};
  std::uint16_t log_events_counter{};
  std::uint32_t current_timestamp{};  // 1.024 us
  std::array<std::uint8_t, 32> port_map{};
  std::array<SwitchCongestionEvent, 15> events{};
  friend bool operator==(const SwitchCongestionLog&, const SwitchCongestionLog&) = default;
};
template <>
struct LayoutOf<SwitchCongestionLog>
    : Layout<"CongestionLogSwitch", "IBA annex A10", 220,
             Field<&SwitchCongestionLog::log_type, at(0), 8, "LogType">,
             Field<&SwitchCongestionLog::congestion_flags, at(1), 8, "CongestionFlags", Show::Hex>,
             Field<&SwitchCongestionLog::log_events_counter, at(2), 16, "LogEventsCounter">,
             Field<&SwitchCongestionLog::current_timestamp, at(4), 32, "CurrentTimeStamp">,
             Field<&SwitchCongestionLog::port_map, at(8), 8, "PortMap", Show::Raw>,
             Field<&SwitchCongestionLog::events, at(40), 96, "CongestionLogEvent", Show::Nested>> {
};

/// A mark that came back to a CA.
struct CaCongestionEvent {
  std::uint32_t local_qp{};  // 24 bits
  Sl sl{};
  std::uint8_t service_type{};
  std::uint32_t remote_qp{};  // 24 bits
  Lid local_lid{};
  Lid remote_lid{};
  std::uint32_t timestamp{};  // 1.024 us
  friend bool operator==(const CaCongestionEvent&, const CaCongestionEvent&) = default;
};
template <>
struct LayoutOf<CaCongestionEvent>
    : Layout<
          "CongestionLogEntryCA", "IBA annex A10", 16,
          Field<&CaCongestionEvent::local_qp, at(0), 24, "Local_QP_CN_Entry", Show::Hex>,
          Field<&CaCongestionEvent::sl, at(3), 4, "SL_CN_Entry">,
          Field<&CaCongestionEvent::service_type, at(3, 4), 4, "Service_Type_CN_Entry">,
          Field<&CaCongestionEvent::remote_qp, at(4), 24, "Remote_QP_Number_CN_Entry", Show::Hex>,
          Field<&CaCongestionEvent::local_lid, at(8), 16, "Local_LID_CN">,
          Field<&CaCongestionEvent::remote_lid, at(10), 16, "Remote_LID_CN_Entry">,
          Field<&CaCongestionEvent::timestamp, at(12), 32, "Timestamp_CN_Entry">> {};

struct CaCongestionLog {
  std::uint8_t log_type{kCongestionLogCa};
  std::uint8_t congestion_flags{};
  std::uint16_t threshold_event_counter{};
  std::uint16_t event_map{};          // by SL
  std::uint32_t current_timestamp{};  // 1.024 us
  std::array<CaCongestionEvent, 13> events{};
  friend bool operator==(const CaCongestionLog&, const CaCongestionLog&) = default;
};
template <>
struct LayoutOf<CaCongestionLog>
    : Layout<
          "CongestionLogCA", "IBA annex A10", 220,
          Field<&CaCongestionLog::log_type, at(0), 8, "LogType">,
          Field<&CaCongestionLog::congestion_flags, at(1), 8, "CongestionFlags", Show::Hex>,
          Field<&CaCongestionLog::threshold_event_counter, at(2), 16, "ThresholdEventCounter">,
          Field<&CaCongestionLog::event_map, at(4), 16, "ThresholdCongestionEventMap", Show::Hex>,
          Field<&CaCongestionLog::current_timestamp, at(8), 32, "CurrentTimeStamp">,
          Field<&CaCongestionLog::events, at(12), 128, "CongestionLogEvent", Show::Nested>> {};

/// By how much packets are spaced: the time of a packet times multiplier / 2^shift.
struct CongestionDelay {
  std::uint8_t shift{};        // 2 bits
  std::uint16_t multiplier{};  // 14 bits
  friend bool operator==(const CongestionDelay&, const CongestionDelay&) = default;
};
template <>
struct LayoutOf<CongestionDelay>
    : Layout<"CongestionControlTableEntry", "IBA annex A10", 2,
             Field<&CongestionDelay::shift, at(0), 2, "CCT_Shift">,
             Field<&CongestionDelay::multiplier, at(0, 2), 14, "CCT_Multiplier">> {};

/// Which members of a SwitchCongestionSetting a Set means (Control_Map).
namespace congestion_map {
inline constexpr std::uint32_t kVictimMask = 1U << 0, kCreditMask = 1U << 1,
                               kThreshold = 1U << 2,  // and Packet_Size
    kCreditStarvation = 1U << 3,                      // and CS_ReturnDelay
    kMarkingRate = 1U << 4, kAll = 0x1F;
}  // namespace congestion_map

/// Ports as a mask: port 0 is the last bit of the last byte.
using CongestionPortMask = std::array<std::uint8_t, 32>;

struct SwitchCongestionSetting {
  std::uint32_t control_map{};
  CongestionPortMask victim_mask{};  // mark also where they have no credits to send
  CongestionPortMask credit_mask{};  // mark on credit starvation
  std::uint8_t threshold{};          // 0: no marks, 15: soonest
  std::uint8_t packet_size{};        // in 64 bytes; smaller packets are not marked
  std::uint8_t cs_threshold{};       // 4 bits
  CongestionDelay cs_return_delay{};
  std::uint16_t marking_rate{};  // mean number of packets between two marks
  friend bool operator==(const SwitchCongestionSetting&, const SwitchCongestionSetting&) = default;
};
template <>
struct LayoutOf<SwitchCongestionSetting>
    : Layout<"SwitchCongestionSetting", "IBA annex A10", 76,
             Field<&SwitchCongestionSetting::control_map, at(0), 32, "Control_Map", Show::Hex>,
             Field<&SwitchCongestionSetting::victim_mask, at(4), 8, "Victim_Mask", Show::Raw>,
             Field<&SwitchCongestionSetting::credit_mask, at(36), 8, "Credit_Mask", Show::Raw>,
             Field<&SwitchCongestionSetting::threshold, at(68), 4, "Threshold">,
             Field<&SwitchCongestionSetting::packet_size, at(69), 8, "Packet_Size">,
             Field<&SwitchCongestionSetting::cs_threshold, at(70), 4, "CS_Threshold">,
             Field<&SwitchCongestionSetting::cs_return_delay, at(72), 16, "CS_ReturnDelay",
                   Show::Nested>,
             Field<&SwitchCongestionSetting::marking_rate, at(74), 16, "Marking_Rate">> {};

/// What one port of a switch has instead of the switch's own.
struct SwitchPortCongestion {
  bool valid{};         // else the switch's own count
  bool control_type{};  // 0: marks by Threshold; 1: by credit starvation
  std::uint8_t threshold{};
  std::uint8_t packet_size{};  // in 64 bytes
  std::uint16_t parameter{};   // marking rate, or the return delay
  friend bool operator==(const SwitchPortCongestion&, const SwitchPortCongestion&) = default;
};
template <>
struct LayoutOf<SwitchPortCongestion>
    : Layout<"SwitchPortCongestionSettingElement", "IBA annex A10", 4,
             Field<&SwitchPortCongestion::valid, at(0), 1, "Valid">,
             Field<&SwitchPortCongestion::control_type, at(0, 1), 1, "Control_Type">,
             Field<&SwitchPortCongestion::threshold, at(0, 4), 4, "Threshold">,
             Field<&SwitchPortCongestion::packet_size, at(1), 8, "Packet_Size">,
             Field<&SwitchPortCongestion::parameter, at(2), 16, "Cong_Parm_Marking_Rate">> {};

/// A block of ports, the first of them port 48 x the attribute modifier.
struct SwitchPortCongestionSetting {
  std::array<SwitchPortCongestion, 48> ports{};
  friend bool operator==(const SwitchPortCongestionSetting&,
                         const SwitchPortCongestionSetting&) = default;
};
template <>
struct LayoutOf<SwitchPortCongestionSetting>
    : Layout<"SwitchPortCongestionSetting", "IBA annex A10", 192,
             Field<&SwitchPortCongestionSetting::ports, at(0), 32, "Element", Show::Nested>> {};

/// What a CA does with the marks of one SL.
struct CaCongestionEntry {
  std::uint16_t ccti_timer{};        // 1.024 us: after so long the index falls by one
  std::uint8_t ccti_increase{};      // by so much a mark raises it
  std::uint8_t trigger_threshold{};  // an index that reaches this is logged
  std::uint8_t ccti_min{};           // it does not fall below this
  friend bool operator==(const CaCongestionEntry&, const CaCongestionEntry&) = default;
};
template <>
struct LayoutOf<CaCongestionEntry>
    : Layout<"CACongestionEntry", "IBA annex A10", 8,
             Field<&CaCongestionEntry::ccti_timer, at(0), 16, "CCTI_Timer">,
             Field<&CaCongestionEntry::ccti_increase, at(2), 8, "CCTI_Increase">,
             Field<&CaCongestionEntry::trigger_threshold, at(3), 8, "Trigger_Threshold">,
             Field<&CaCongestionEntry::ccti_min, at(4), 8, "CCTI_Min">> {};

struct CaCongestionSetting {
  std::uint16_t port_control{};                 // bit 0: 0 by queue pair, 1 by SL
  std::uint16_t control_map{};                  // SLs that a Set means
  std::array<CaCongestionEntry, 16> entries{};  // by SL
  friend bool operator==(const CaCongestionSetting&, const CaCongestionSetting&) = default;
};
template <>
struct LayoutOf<CaCongestionSetting>
    : Layout<"CACongestionSetting", "IBA annex A10", 132,
             Field<&CaCongestionSetting::port_control, at(0), 16, "Port_Control", Show::Hex>,
             Field<&CaCongestionSetting::control_map, at(2), 16, "Control_Map", Show::Hex>,
             Field<&CaCongestionSetting::entries, at(4), 64, "CACongestionEntry", Show::Nested>> {};

/// A block of the table; the attribute modifier is its number.
struct CongestionControlTable {
  static constexpr std::size_t kEntries = 64;
  std::uint16_t ccti_limit{};  // the last index of the whole table, in every block
  std::array<CongestionDelay, kEntries> entries{};
  friend bool operator==(const CongestionControlTable&, const CongestionControlTable&) = default;
};
template <>
struct LayoutOf<CongestionControlTable>
    : Layout<"CongestionControlTable", "IBA annex A10", 132,
             Field<&CongestionControlTable::ccti_limit, at(0), 16, "CCTI_Limit">,
             Field<&CongestionControlTable::entries, at(4), 16, "Entry", Show::Nested>> {};

struct CongestionTimeStamp {
  std::uint32_t timestamp{};  // 1.024 us
  friend bool operator==(const CongestionTimeStamp&, const CongestionTimeStamp&) = default;
};
template <>
struct LayoutOf<CongestionTimeStamp>
    : Layout<"TimeStamp", "IBA annex A10", 4,
             Field<&CongestionTimeStamp::timestamp, at(0), 32, "Timestamp">> {};

}  // namespace ib::wire
