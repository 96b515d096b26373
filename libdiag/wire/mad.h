// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The MAD: 256 bytes, its common header, and the headers that follow it by class. Plain inline
// layouts, since every packet passes here; attribute bodies are in smp_attributes.h, sa_records.h
// and gmp_attributes.h.
#pragma once

#include <span>

#include "libdiag/base/bytes.h"
#include "libdiag/wire/layout.h"

namespace ib::wire {

inline constexpr std::size_t kMadBytes = 256;

// Management classes (IBA table 108).
enum class MgmtClass : std::uint8_t {
  SubnLid = 0x01,
  SubnAdm = 0x03,
  Perf = 0x04,
  BoardMgmt = 0x05,
  DevMgt = 0x06,
  Comm = 0x07,
  CongestionControl = 0x21,
  VendorIbtracer = 0x30,  // ours, with the OpenIB OUI
  VendorPing = 0x32,      // stock ibping, with the OpenIB OUI
  SubnDirected = 0x81,
};
constexpr bool is_smp(MgmtClass c) {
  return c == MgmtClass::SubnLid || c == MgmtClass::SubnDirected;
}
constexpr bool is_vendor_range2(MgmtClass c) {
  return static_cast<unsigned>(c) >= 0x30 && static_cast<unsigned>(c) <= 0x4F;
}

// Methods (IBA table 109 and 15.2.2).
enum class Method : std::uint8_t {
  Get = 0x01,
  Set = 0x02,
  Send = 0x03,
  Trap = 0x05,
  Report = 0x06,
  TrapRepress = 0x07,
  GetTable = 0x12,
  GetTraceTable = 0x13,
  GetMulti = 0x14,
  Delete = 0x15,
  GetResp = 0x81,
  ReportResp = 0x86,
  GetTableResp = 0x92,
  GetMultiResp = 0x94,
  DeleteResp = 0x95,
};
constexpr bool is_response(Method m) { return (static_cast<unsigned>(m) & 0x80) != 0; }

/// Attribute identifiers. Numbers are per class, so some repeat.
namespace attr {
inline constexpr std::uint16_t kClassPortInfo = 0x0001, kNotice = 0x0002, kInformInfo = 0x0003;
// Subnet management (IBA 14.2.5)
inline constexpr std::uint16_t kNodeDescription = 0x0010, kNodeInfo = 0x0011, kSwitchInfo = 0x0012,
                               kGuidInfo = 0x0014, kPortInfo = 0x0015, kPKeyTable = 0x0016,
                               kSlToVl = 0x0017, kVlArbitration = 0x0018,
                               kLinearForwarding = 0x0019, kMulticastForwarding = 0x001B,
                               kSmInfo = 0x0020, kMlnxGeneralInfo = 0xFF17,
                               kMlnxQosConfigSl = 0xFF82, kMlnxExtendedPortInfo = 0xFF90;
// Subnet administration (IBA 15.2.5)
inline constexpr std::uint16_t kNodeRecord = 0x0011, kPortInfoRecord = 0x0012,
                               kSlToVlRecord = 0x0013, kSwitchInfoRecord = 0x0014,
                               kLinearFdtRecord = 0x0015, kMulticastFdtRecord = 0x0017,
                               kSmInfoRecord = 0x0018, kLinkRecord = 0x0020,
                               kGuidInfoRecord = 0x0030, kServiceRecord = 0x0031,
                               kPKeyTableRecord = 0x0033, kPathRecord = 0x0035,
                               kVlArbitrationRecord = 0x0036, kMcMemberRecord = 0x0038,
                               kTraceRecord = 0x0039, kMultiPathRecord = 0x003A,
                               kInformInfoRecord = 0x00F3;
// Performance management (IBA 16.1.3)
inline constexpr std::uint16_t kPortCounters = 0x0012, kPortCountersExtended = 0x001D;
// ibtracer (class 0x30) and ibping (class 0x32)
inline constexpr std::uint16_t kSourceRoute = 0x0010, kPing = 0x0000;
}  // namespace attr

// Status codes, host order (IBA 13.4.7); the invalid-field code stands in bits 4:2.
namespace status {
inline constexpr std::uint16_t kOk = 0, kBusy = 0x0001, kRedirect = 0x0002, kBadVersion = 0x0004,
                               kBadMethod = 0x0008, kBadAttribute = 0x000C, kBadValue = 0x001C;
// SA codes stand in the upper byte (IBA 15.2.3 table 187).
inline constexpr std::uint16_t kSaNoResources = 0x0100, kSaReqInvalid = 0x0200,
                               kSaNoRecords = 0x0300, kSaTooManyRecords = 0x0400,
                               kSaInvalidGid = 0x0500, kSaInsufficientComponents = 0x0600,
                               kSaReqDenied = 0x0700;
}  // namespace status

inline constexpr std::uint32_t kQp1QKey = 0x80010000;
inline constexpr std::uint32_t kOpenIbOui = 0x001405;

struct MadHeader {
  std::uint8_t base_version{1};
  MgmtClass mgmt_class{};
  std::uint8_t class_version{1};
  Method method{};
  std::uint16_t status{};          // for directed-route SMPs: D bit 15 and 15 bits of status
  std::uint16_t class_specific{};  // directed-route SMPs: HopPointer, HopCount
  Tid tid{};
  std::uint16_t attribute_id{};
  std::uint32_t attribute_modifier{};
};
template <>
struct LayoutOf<MadHeader>
    : Layout<"MADHeader", "IBA 13.4.2", 24,
             Field<&MadHeader::base_version, at(0), 8, "BaseVersion">,
             Field<&MadHeader::mgmt_class, at(1), 8, "MgmtClass", Show::Hex>,
             Field<&MadHeader::class_version, at(2), 8, "ClassVersion">,
             Field<&MadHeader::method, at(3), 8, "Method", Show::Hex>,
             Field<&MadHeader::status, at(4), 16, "Status", Show::Hex>,
             Field<&MadHeader::class_specific, at(6), 16, "ClassSpecific", Show::Hex>,
             Field<&MadHeader::tid, at(8), 64, "TransactionID", Show::Hex>,
             Field<&MadHeader::attribute_id, at(16), 16, "AttributeID", Show::Hex>,
             Field<&MadHeader::attribute_modifier, at(20), 32, "AttributeModifier", Show::Hex>> {};

/// What a subnet management packet carries beyond the common header. The directed-route members
/// mean nothing in class 0x01.
struct SmpHeader {
  bool direction{};  // D bit: 0 outbound, 1 returning
  std::uint16_t status{};
  std::uint8_t hop_pointer{};
  std::uint8_t hop_count{};
  std::uint64_t m_key{};
  Lid dr_slid{kPermissiveLid};
  Lid dr_dlid{kPermissiveLid};
  std::array<std::uint8_t, 64> initial_path{};
  std::array<std::uint8_t, 64> return_path{};
};
template <>
struct LayoutOf<SmpHeader>
    : Layout<"SMP", "IBA 14.2.1", 256, Field<&SmpHeader::direction, at(4), 1, "Direction">,
             Field<&SmpHeader::status, at(4, 1), 15, "Status", Show::Hex>,
             Field<&SmpHeader::hop_pointer, at(6), 8, "HopPointer">,
             Field<&SmpHeader::hop_count, at(7), 8, "HopCount">,
             Field<&SmpHeader::m_key, at(24), 64, "M_Key", Show::Secret>,
             Field<&SmpHeader::dr_slid, at(32), 16, "DrSLID">,
             Field<&SmpHeader::dr_dlid, at(34), 16, "DrDLID">,
             Field<&SmpHeader::initial_path, at(128), 8, "InitialPath", Show::Raw>,
             Field<&SmpHeader::return_path, at(192), 8, "ReturnPath", Show::Raw>> {};
inline constexpr std::size_t kSmpDataOffset = 64, kSmpDataBytes = 64;

/// RMPP header (IBA 13.6.2.1), present in SA and vendor-range-2 MADs at byte 24.
struct RmppHeader {
  std::uint8_t version{};
  std::uint8_t type{};  // 0 none, 1 DATA, 2 ACK, 3 STOP, 4 ABORT
  std::uint8_t response_time{0x1F};
  bool last{}, first{}, active{};
  std::uint8_t status{};
  std::uint32_t data1{};  // DATA, ACK: SegmentNumber
  std::uint32_t data2{};  // DATA: PayloadLength, ACK: NewWindowLast
};
template <>
struct LayoutOf<RmppHeader>
    : Layout<"RMPP", "IBA 13.6.2.1", 36, Field<&RmppHeader::version, at(24), 8, "RMPPVersion">,
             Field<&RmppHeader::type, at(25), 8, "RMPPType">,
             Field<&RmppHeader::response_time, at(26), 5, "RRespTime">,
             Field<&RmppHeader::last, at(26, 5), 1, "Last">,
             Field<&RmppHeader::first, at(26, 6), 1, "First">,
             Field<&RmppHeader::active, at(26, 7), 1, "Active">,
             Field<&RmppHeader::status, at(27), 8, "RMPPStatus">,
             Field<&RmppHeader::data1, at(28), 32, "Data1">,
             Field<&RmppHeader::data2, at(32), 32, "Data2">> {};

/// SA header (IBA 15.2.1.1), at byte 36 behind the RMPP header; SA data starts at byte 56.
struct SaHeader {
  std::uint64_t sm_key{};
  std::uint16_t attribute_offset{};  // size of one record in 8-byte words
  std::uint64_t component_mask{};
};
template <>
struct LayoutOf<SaHeader>
    : Layout<"SAHeader", "IBA 15.2.1.1", 56,
             Field<&SaHeader::sm_key, at(36), 64, "SM_Key", Show::Secret>,
             Field<&SaHeader::attribute_offset, at(44), 16, "AttributeOffset">,
             Field<&SaHeader::component_mask, at(48), 64, "ComponentMask", Show::Hex>> {};
inline constexpr std::size_t kSaDataOffset = 56, kSaDataBytes = 200;

/// Vendor MAD of range 2 (IBA 16.5): RMPP header at 24, OUI at 37, data at 40.
struct VendorHeader {
  std::uint32_t oui{kOpenIbOui};
};
template <>
struct LayoutOf<VendorHeader> : Layout<"VendorHeader", "IBA 16.5", 40,
                                       Field<&VendorHeader::oui, at(37), 24, "OUI", Show::Hex>> {};
inline constexpr std::size_t kVendorDataOffset = 40, kVendorDataBytes = 216;
inline constexpr std::size_t kGmpDataOffset = 64, kGmpDataBytes = 192;  // PerfMgt and the like

/// One MAD as it stands on the wire.
struct Mad {
  alignas(8) std::array<std::byte, kMadBytes> bytes{};

  template <class Header>
  View<Header> view() {
    return View<Header>(bytes.data());
  }
  template <auto Member>
  auto get() const {
    using Header = typename MemberTraits<decltype(Member)>::structure;
    // View only writes through set(), which a const Mad cannot reach.
    return View<Header>(const_cast<std::byte*>(bytes.data())).template get<Member>();
  }
  template <auto Member>
  void set(const typename MemberTraits<decltype(Member)>::type& v) {
    using Header = typename MemberTraits<decltype(Member)>::structure;
    View<Header>(bytes.data()).template set<Member>(v);
  }

  MgmtClass mgmt_class() const { return get<&MadHeader::mgmt_class>(); }
  Method method() const { return get<&MadHeader::method>(); }
  Tid tid() const { return get<&MadHeader::tid>(); }
  std::uint16_t attribute_id() const { return get<&MadHeader::attribute_id>(); }
  std::uint32_t attribute_modifier() const { return get<&MadHeader::attribute_modifier>(); }
  /// Status without the directed-route D bit.
  std::uint16_t status() const {
    const auto s = get<&MadHeader::status>();
    return mgmt_class() == MgmtClass::SubnDirected ? static_cast<std::uint16_t>(s & 0x7FFF) : s;
  }
  bool is_directed() const { return mgmt_class() == MgmtClass::SubnDirected; }

  /// Byte at which this class's attribute data starts (IBA 13.4.2 and the classes' own chapters).
  std::size_t data_offset() const;
  std::byte* data() { return bytes.data() + data_offset(); }
  const std::byte* data() const { return bytes.data() + data_offset(); }

  friend bool operator==(const Mad&, const Mad&) = default;
};

/// Byte at which the attribute data of a class starts.
constexpr std::size_t data_offset_of(MgmtClass c) {
  if (is_smp(c)) return kSmpDataOffset;
  if (c == MgmtClass::SubnAdm) return kSaDataOffset;
  if (is_vendor_range2(c)) return kVendorDataOffset;
  if (static_cast<unsigned>(c) >= 0x09 && static_cast<unsigned>(c) <= 0x0F) return 24;
  return kGmpDataOffset;
}
inline std::size_t Mad::data_offset() const { return data_offset_of(mgmt_class()); }

/// Reads the attribute of `mad`'s data area as T.
template <class T>
inline T body(const Mad& mad) {
  return decode<T>(mad.data());
}
/// Writes `value` into `mad`'s data area; the class must have been set.
template <class T>
inline void set_body(Mad& mad, const T& value) {
  encode(value, mad.data());
}

/// A request's common header, everything else zero.
inline Mad make_mad(MgmtClass c, Method m, std::uint16_t attribute, std::uint32_t modifier = 0) {
  Mad mad;
  MadHeader h;
  h.mgmt_class = c;
  h.class_version = (c == MgmtClass::SubnAdm || c == MgmtClass::CongestionControl)
                        ? std::uint8_t{2}
                        : std::uint8_t{1};
  h.method = m;
  h.attribute_id = attribute;
  h.attribute_modifier = modifier;
  encode(h, mad.bytes.data());
  if (c == MgmtClass::SubnDirected) {
    mad.set<&SmpHeader::dr_slid>(kPermissiveLid);
    mad.set<&SmpHeader::dr_dlid>(kPermissiveLid);
  }
  if (is_vendor_range2(c)) mad.set<&VendorHeader::oui>(kOpenIbOui);
  return mad;
}

}  // namespace ib::wire
