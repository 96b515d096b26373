// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The one table of names of values and bits. Spelled as the specification does; states and units as
// the stock tools print them.
#include <algorithm>

#include "libdiag/wire/registry.h"

namespace ib::wire {
namespace {

// clang-format off
constexpr NamedValue kNodeType[] = {{1, "Channel Adapter"}, {2, "Switch"}, {3, "Router"}};
constexpr NamedValue kPortState[] = {
    {0, "NoChange"}, {1, "Down"}, {2, "Initialize"}, {3, "Armed"}, {4, "Active"}};
constexpr NamedValue kPhysState[] = {
    {0, "NoChange"}, {1, "Sleep"}, {2, "Polling"}, {3, "Disabled"},
    {4, "PortConfigurationTraining"}, {5, "LinkUp"}, {6, "LinkErrorRecovery"}, {7, "PhyTest"}};
constexpr NamedValue kLinkDownDefault[] = {{0, "NoChange"}, {1, "Sleep"}, {2, "Polling"}};
constexpr NamedValue kWidth[] = {{1, "1X"}, {2, "4X"}, {4, "8X"}, {8, "12X"}, {16, "2X"}};
constexpr NamedValue kSpeed[] = {{1, "2.5 Gbps"}, {2, "5.0 Gbps"}, {4, "10.0 Gbps"}};
constexpr NamedValue kSpeedActive[] = {
    {0, "Extended speed"}, {1, "2.5 Gbps"}, {2, "5.0 Gbps"}, {4, "10.0 Gbps"}};
constexpr NamedValue kSpeedExt[] = {
    {1, "14.0625 Gbps"}, {2, "25.78125 Gbps"}, {4, "53.125 Gbps"}, {8, "106.25 Gbps"}};
constexpr NamedValue kSpeedExtActive[] = {
    {0, "No Extended Speed"}, {1, "14.0625 Gbps"}, {2, "25.78125 Gbps"}, {4, "53.125 Gbps"},
    {8, "106.25 Gbps"}};
constexpr NamedValue kSpeedExt2[] = {{1, "212.5 Gbps"}};
constexpr NamedValue kSpeedExtActive2[] = {{0, "No Extended Speed 2"}, {1, "212.5 Gbps"}};
constexpr NamedValue kMtu[] = {{1, "256"}, {2, "512"}, {3, "1024"}, {4, "2048"}, {5, "4096"}};
constexpr NamedValue kVls[] = {
    {0, "No change"}, {1, "VL0"}, {2, "VL0-1"}, {3, "VL0-3"}, {4, "VL0-7"}, {5, "VL0-14"}};
constexpr NamedValue kArLidState[] = {{0, "Bounded"}, {1, "Free"}, {2, "Static"}};
constexpr NamedValue kSmState[] = {
    {0, "not-active"}, {1, "discovering"}, {2, "standby"}, {3, "master"}};
constexpr NamedValue kFecMode[] = {
    {0, "none"}, {1, "FireCode"}, {2, "RS"}, {3, "low-latency RS"},
    {4, "RS 2"}};
constexpr NamedValue kSelector[] = {
    {0, "greater than"}, {1, "less than"}, {2, "exactly"}, {3, "largest"}};
constexpr NamedValue kRate[] = {
    {2, "2.5 Gb/s"}, {3, "10 Gb/s"}, {4, "30 Gb/s"}, {5, "5 Gb/s"}, {6, "20 Gb/s"},
    {7, "40 Gb/s"}, {8, "60 Gb/s"}, {9, "80 Gb/s"}, {10, "120 Gb/s"}, {11, "14 Gb/s"},
    {12, "56 Gb/s"}, {13, "112 Gb/s"}, {14, "168 Gb/s"}, {15, "25 Gb/s"}, {16, "100 Gb/s"},
    {17, "200 Gb/s"}, {18, "300 Gb/s"}, {19, "28 Gb/s"}, {20, "50 Gb/s"}, {21, "400 Gb/s"},
    {22, "600 Gb/s"}, {23, "800 Gb/s"}, {24, "1200 Gb/s"}, {25, "1600 Gb/s"}};
constexpr NamedValue kCapability[] = {
    {1U << 1, "IsSM"}, {1U << 2, "IsNoticeSupported"}, {1U << 3, "IsTrapSupported"},
    {1U << 4, "IsOptionalIPDSupported"}, {1U << 5, "IsAutomaticMigrationSupported"},
    {1U << 6, "IsSLMappingSupported"}, {1U << 7, "IsMKeyNVRAM"}, {1U << 8, "IsPKeyNVRAM"},
    {1U << 9, "IsLedInfoSupported"}, {1U << 10, "IsSMdisabled"},
    {1U << 11, "IsSystemImageGUIDsupported"}, {1U << 12, "IsPkeySwitchExternalPortTrapSupported"},
    {1U << 13, "IsCableInfoSupported"}, {1U << 14, "IsExtendedSpeedsSupported"},
    {1U << 15, "IsCapabilityMask2Supported"}, {1U << 16, "IsCommunicationManagementSupported"},
    {1U << 17, "IsSNMPTunnelingSupported"}, {1U << 18, "IsReinitSupported"},
    {1U << 19, "IsDeviceManagementSupported"}, {1U << 20, "IsVendorClassSupported"},
    {1U << 21, "IsDRNoticeSupported"}, {1U << 22, "IsCapabilityMaskNoticeSupported"},
    {1U << 23, "IsBootManagementSupported"}, {1U << 24, "IsLinkRoundTripLatencySupported"},
    {1U << 25, "IsClientRegistrationSupported"}, {1U << 26, "IsOtherLocalChangesNoticeSupported"},
    {1U << 27, "IsLinkSpeedWidthPairsTableSupported"}, {1U << 28, "IsVendorSpecificMadsTableSupported"},
    {1U << 29, "IsMcastPkeyTrapSuppressionSupported"}, {1U << 30, "IsMulticastFDBTopSupported"},
    {1U << 31, "IsHierarchyInfoSupported"}};
constexpr NamedValue kCapability2[] = {
    {1U << 0, "IsSetNodeDescriptionSupported"}, {1U << 1, "IsPortInfoExtendedSupported"},
    {1U << 2, "IsVirtualizationSupported"}, {1U << 3, "IsSwitchPortStateTableSupported"},
    {1U << 4, "IsLinkWidth2xSupported"}, {1U << 5, "IsLinkSpeedHDRSupported"},
    {1U << 6, "IsMKeyProtectBitsExtSupported"}, {1U << 7, "IsEnhancedTrap128Supported"},
    {1U << 8, "IsPartitionTopSupported"}, {1U << 9, "IsEnhancedQoSArbiterSupported"},
    {1U << 10, "IsLinkSpeedNDRSupported"}, {1U << 11, "IsExtendedSpeeds2Supported"},
    {1U << 12, "IsLinkSpeedXDRSupported"}};

struct Row {
  std::string_view field;
  std::span<const NamedValue> names;
};
const Row kRows[] = {
    {"NodeType", kNodeType},
    {"PortState", kPortState}, {"VPortState", kPortState},
    {"PortPhysicalState", kPhysState},
    {"LinkDownDefaultState", kLinkDownDefault},
    {"LinkWidthEnabled", kWidth}, {"LinkWidthSupported", kWidth}, {"LinkWidthActive", kWidth},
    {"LinkSpeedSupported", kSpeed}, {"LinkSpeedEnabled", kSpeed},
    {"LinkSpeedActive", kSpeedActive},
    {"LinkSpeedExtSupported", kSpeedExt}, {"LinkSpeedExtEnabled", kSpeedExt},
    {"LinkSpeedExtActive", kSpeedExtActive},
    {"LinkSpeedExtSupported2", kSpeedExt2}, {"LinkSpeedExtEnabled2", kSpeedExt2},
    {"LinkSpeedExtActive2", kSpeedExtActive2},
    {"NeighborMTU", kMtu}, {"MTUCap", kMtu}, {"MTU", kMtu}, {"Mtu", kMtu},
    {"VLCap", kVls}, {"OperationalVLs", kVls},
    {"SMState", kSmState},
    {"LIDState", kArLidState},
    {"MtuSelector", kSelector}, {"MTUSelector", kSelector}, {"RateSelector", kSelector},
    {"PacketLifeTimeSelector", kSelector},
    {"Rate", kRate},
    {"FECModeActive", kFecMode},
    {"CapabilityMask", kCapability}, {"CapabilityMask2", kCapability2},
};

struct ClassName { MgmtClass value; std::string_view name; };
constexpr ClassName kClasses[] = {
    {MgmtClass::SubnLid, "Subn"}, {MgmtClass::SubnDirected, "SubnDirected"},
    {MgmtClass::SubnAdm, "SubnAdm"}, {MgmtClass::Perf, "Perf"}, {MgmtClass::BoardMgmt, "BM"},
    {MgmtClass::DevMgt, "DevMgt"}, {MgmtClass::Comm, "ComMgt"},
    {MgmtClass::CongestionControl, "CongestionControl"},
    {MgmtClass::VendorIbtracer, "VendorIbtracer"}, {MgmtClass::VendorPing, "VendorPing"}};
struct MethodName { Method value; std::string_view name; };
constexpr MethodName kMethods[] = {
    {Method::Get, "Get"}, {Method::Set, "Set"}, {Method::Send, "Send"}, {Method::Trap, "Trap"},
    {Method::Report, "Report"}, {Method::TrapRepress, "TrapRepress"},
    {Method::GetTable, "GetTable"}, {Method::GetTraceTable, "GetTraceTable"},
    {Method::GetMulti, "GetMulti"}, {Method::Delete, "Delete"}, {Method::GetResp, "GetResp"},
    {Method::ReportResp, "ReportResp"}, {Method::GetTableResp, "GetTableResp"},
    {Method::GetMultiResp, "GetMultiResp"}, {Method::DeleteResp, "DeleteResp"}};
// clang-format on

}  // namespace

std::span<const NamedValue> names_of(std::string_view field) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& r) { return r.field == field; });
  return row == std::end(kRows) ? std::span<const NamedValue>{} : row->names;
}

std::string_view value_name(std::string_view field, std::uint64_t value) {
  for (const NamedValue& name : names_of(field))
    if (name.value == value) return name.name;
  return {};
}

std::string_view class_name(MgmtClass c) {
  for (const ClassName& row : kClasses)
    if (row.value == c) return row.name;
  return {};
}

std::string_view method_name(Method m) {
  for (const MethodName& row : kMethods)
    if (row.value == m) return row.name;
  return {};
}

}  // namespace ib::wire
