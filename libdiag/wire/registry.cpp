// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/wire/registry.h"

#include <algorithm>
#include <cstring>

#include "libdiag/base/text.h"
#include "libdiag/wire/all_structures.h"
#include "libdiag/wire/port_attributes.h"

namespace ib::wire {
namespace {

/// Element bytes copied out, zero beyond the end of the buffer.
std::vector<std::byte> slice(std::span<const std::byte> bytes, std::size_t at, std::size_t count) {
  std::vector<std::byte> out(count);
  if (at < bytes.size())
    std::memcpy(out.data(), bytes.data() + at, std::min(count, bytes.size() - at));
  return out;
}

std::string hex(std::uint64_t v, std::size_t bits) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "0x";
  for (std::size_t digit = (bits + 3) / 4; digit-- > 0;) text += kDigits[(v >> (4 * digit)) & 0xF];
  return text;
}

std::string hex_bytes(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte b : bytes) text += hex(static_cast<std::uint64_t>(b), 8).substr(2);
  return text;
}

std::string flags_text(const FieldInfo& field, std::uint64_t raw) {
  std::string text;
  for (const NamedValue& name : names_of(field.name)) {
    if ((raw & name.value) == 0) continue;
    raw &= ~name.value;
    if (!text.empty()) text += " or ";
    text += name.name;
  }
  if (raw != 0)
    text += (text.empty() ? "" : " or ") + ("undefined (" + hex(raw, field.width) + ")");
  return text.empty() ? "0" : text;
}

void append_values(const StructureInfo& structure, std::span<const std::byte> bytes,
                   const FormatOptions& options, const std::string& prefix,
                   std::vector<FieldValue>& out) {
  for (const FieldInfo& field : structure.fields) {
    const std::size_t count = is_one_value(field) ? 1 : field.count;
    for (std::size_t i = 0; i < count; ++i) {
      std::string name = prefix + std::string(field.name);
      if (count > 1) name += "[" + std::to_string(i) + "]";
      if (field.nested) {
        const std::size_t at = (field.bit + i * field.stride) / 8;
        append_values(*field.nested, bytes.subspan(std::min(at, bytes.size())), options, name + ".",
                      out);
        continue;
      }
      const bool integer = field.width <= 64 && (field.count == 1 || !is_one_value(field));
      const bool hidden = field.show == Show::Secret && !options.secrets;
      out.push_back({&field, std::move(name), format_value(field, bytes, i, options),
                     integer && !hidden ? raw_value(field, bytes, i) : 0});
    }
  }
}

template <class T>
AttributeInfo attribute(MgmtClass c, std::uint16_t id, std::vector<Method> methods) {
  return {c, id, &describe<T>(), std::move(methods)};
}

}  // namespace

std::span<const StructureInfo* const> structures() {
  static const std::vector<const StructureInfo*> all = []<class... T>(TypeList<T...>) {
    return std::vector<const StructureInfo*>{&describe<T>()...};
  }(AllStructures{});
  return all;
}

std::span<const AttributeInfo> attributes() {
  using enum Method;
  constexpr MgmtClass kSmp = MgmtClass::SubnLid, kSa = MgmtClass::SubnAdm, kPm = MgmtClass::Perf,
                      kCc = MgmtClass::CongestionControl;
  static const std::vector<AttributeInfo> all{
      attribute<Notice>(kSmp, attr::kNotice, {Get, Set, Trap, TrapRepress}),
      attribute<NodeDescription>(kSmp, attr::kNodeDescription, {Get}),
      attribute<NodeInfo>(kSmp, attr::kNodeInfo, {Get}),
      attribute<SwitchInfo>(kSmp, attr::kSwitchInfo, {Get, Set}),
      attribute<GuidInfo>(kSmp, attr::kGuidInfo, {Get, Set}),
      attribute<PortInfo>(kSmp, attr::kPortInfo, {Get, Set}),
      attribute<PKeyTable>(kSmp, attr::kPKeyTable, {Get, Set}),
      attribute<SlToVlTable>(kSmp, attr::kSlToVl, {Get, Set}),
      attribute<VlArbitrationTable>(kSmp, attr::kVlArbitration, {Get, Set}),
      attribute<LinearForwardingTable>(kSmp, attr::kLinearForwarding, {Get, Set}),
      attribute<MulticastForwardingTable>(kSmp, attr::kMulticastForwarding, {Get, Set}),
      attribute<SmInfo>(kSmp, attr::kSmInfo, {Get, Set}),
      attribute<PortInfoExtended>(kSmp, attr::kPortInfoExtended, {Get, Set}),
      attribute<SwitchPortStateTable>(kSmp, attr::kSwitchPortStateTable, {Get}),
      attribute<MlnxExtendedPortInfo>(kSmp, attr::kMlnxExtendedPortInfo, {Get, Set}),
      attribute<MlnxGeneralInfo>(kSmp, attr::kMlnxGeneralInfo, {Get}),
      attribute<MlnxQosConfigSl>(kSmp, attr::kMlnxQosConfigSl, {Get, Set}),
      attribute<VirtualizationInfo>(kSmp, attr::kVirtualizationInfo, {Get, Set}),
      attribute<VPortInfo>(kSmp, attr::kVPortInfo, {Get, Set}),
      attribute<VNodeInfo>(kSmp, attr::kVNodeInfo, {Get}),
      attribute<VPortStates>(kSmp, attr::kVPortState, {Get}),
      attribute<NodeDescription>(kSmp, attr::kVNodeDescription, {Get}),
      attribute<GuidInfo>(kSmp, attr::kVPortGuidInfo, {Get, Set}),
      attribute<PKeyTable>(kSmp, attr::kVPortPKeyTable, {Get, Set}),
      attribute<MlnxArInfo>(kSmp, attr::kMlnxArInfo, {Get, Set}),
      attribute<MlnxArGroup>(kSmp, attr::kMlnxArGroupTable, {Get, Set}),
      attribute<MlnxArLft>(kSmp, attr::kMlnxArLft, {Get, Set}),
      attribute<ClassPortInfo>(kSa, attr::kClassPortInfo, {Get, Set}),
      attribute<NodeRecord>(kSa, attr::kNodeRecord, {Get, GetTable}),
      attribute<PortInfoRecord>(kSa, attr::kPortInfoRecord, {Get, GetTable}),
      attribute<PathRecord>(kSa, attr::kPathRecord, {Get, GetTable}),
      attribute<McMemberRecord>(kSa, attr::kMcMemberRecord, {Get, Set, GetTable, Delete}),
      attribute<Notice>(kSa, attr::kNotice, {Report}),
      attribute<InformInfo>(kSa, attr::kInformInfo, {Set}),
      attribute<SlToVlRecord>(kSa, attr::kSlToVlRecord, {Get, GetTable}),
      attribute<SwitchInfoRecord>(kSa, attr::kSwitchInfoRecord, {Get, GetTable}),
      attribute<LinearFdtRecord>(kSa, attr::kLinearFdtRecord, {Get, GetTable}),
      attribute<MulticastFdtRecord>(kSa, attr::kMulticastFdtRecord, {Get, GetTable}),
      attribute<SmInfoRecord>(kSa, attr::kSmInfoRecord, {Get, GetTable}),
      attribute<VlArbitrationRecord>(kSa, attr::kVlArbitrationRecord, {Get, GetTable}),
      attribute<PKeyTableRecord>(kSa, attr::kPKeyTableRecord, {Get, GetTable}),
      attribute<InformInfoRecord>(kSa, attr::kInformInfoRecord, {Get, GetTable}),
      attribute<LinkRecord>(kSa, attr::kLinkRecord, {Get, GetTable}),
      attribute<ServiceRecord>(kSa, attr::kServiceRecord, {Get, Set, GetTable, Delete}),
      attribute<GuidInfoRecord>(kSa, attr::kGuidInfoRecord, {Get, Set, GetTable, Delete}),
      attribute<MultiPathRecord>(kSa, attr::kMultiPathRecord, {GetMulti}),
      attribute<TraceRecord>(kSa, attr::kTraceRecord, {GetTraceTable}),
      attribute<ClassPortInfo>(kPm, attr::kClassPortInfo, {Get, Set}),
      attribute<PortCounters>(kPm, attr::kPortCounters, {Get, Set}),
      attribute<PortCountersExtended>(kPm, attr::kPortCountersExtended, {Get, Set}),
      attribute<PortRcvErrorDetails>(kPm, attr::kPortRcvErrorDetails, {Get, Set}),
      attribute<PortXmitDiscardDetails>(kPm, attr::kPortXmitDiscardDetails, {Get, Set}),
      attribute<PortVlOpPackets>(kPm, attr::kPortVlOpPackets, {Get, Set}),
      attribute<PortVlOpData>(kPm, attr::kPortVlOpData, {Get, Set}),
      attribute<PortVlXmitWait>(kPm, attr::kPortVlXmitWait, {Get, Set}),
      attribute<PortXmitDataSl>(kPm, attr::kPortXmitDataSl, {Get, Set}),
      attribute<PortRcvDataSl>(kPm, attr::kPortRcvDataSl, {Get, Set}),
      // CongestionLog is not here: it lies elsewhere in the MAD, and is one of two structures.
      attribute<ClassPortInfo>(kCc, attr::kClassPortInfo, {Get, Set}),
      attribute<CongestionInfo>(kCc, attr::kCongestionInfo, {Get}),
      attribute<CongestionKeyInfo>(kCc, attr::kCongestionKeyInfo, {Get, Set}),
      attribute<SwitchCongestionSetting>(kCc, attr::kSwitchCongestionSetting, {Get, Set}),
      attribute<SwitchPortCongestionSetting>(kCc, attr::kSwitchPortCongestionSetting, {Get, Set}),
      attribute<CaCongestionSetting>(kCc, attr::kCaCongestionSetting, {Get, Set}),
      attribute<CongestionControlTable>(kCc, attr::kCongestionControlTable, {Get, Set}),
      attribute<CongestionTimeStamp>(kCc, attr::kTimeStamp, {Get}),
      attribute<ClassPortInfo>(MgmtClass::VendorIbtracer, attr::kClassPortInfo, {Get}),
      attribute<SourceRoute>(MgmtClass::VendorIbtracer, attr::kSourceRoute, {Get}),
      attribute<MulticastRoute>(MgmtClass::VendorIbtracer, attr::kMulticastRoute, {Get}),
      attribute<Ping>(MgmtClass::VendorPing, attr::kPing, {Get}),
  };
  return all;
}

const AttributeInfo* find_attribute(MgmtClass c, std::uint16_t id) {
  if (c == MgmtClass::SubnDirected) c = MgmtClass::SubnLid;
  for (const AttributeInfo& a : attributes())
    if (a.mgmt_class == c && a.id == id) return &a;
  return nullptr;
}

std::string_view attribute_name(MgmtClass c, std::uint16_t id) {
  const AttributeInfo* a = find_attribute(c, id);
  return a ? a->structure->name : std::string_view{};
}

std::uint64_t raw_value(const FieldInfo& field, std::span<const std::byte> bytes,
                        std::size_t index) {
  const std::size_t first = field.bit + index * field.stride;
  std::uint64_t v = 0;
  for (std::size_t bit = first; bit < first + field.width;) {
    // Whole bytes where the field is aligned to them, else bit by bit.
    const auto byte =
        bit / 8 < bytes.size() ? static_cast<std::uint64_t>(bytes[bit / 8]) : std::uint64_t{0};
    if (bit % 8 == 0 && first + field.width - bit >= 8) {
      v = (v << 8) | byte;
      bit += 8;
    } else {
      v = (v << 1) | ((byte >> (7 - bit % 8)) & 1);
      ++bit;
    }
  }
  return v;
}

void set_raw_value(const FieldInfo& field, std::span<std::byte> bytes, std::size_t index,
                   std::uint64_t value) {
  const std::size_t first = field.bit + index * field.stride;
  for (std::size_t i = 0; i < field.width; ++i) {
    const std::size_t bit = first + i;
    if (bit / 8 >= bytes.size()) return;
    const std::byte one{static_cast<unsigned char>(0x80U >> (bit % 8))};
    const bool on = (value >> (field.width - 1 - i) & 1) != 0;
    bytes[bit / 8] = on ? bytes[bit / 8] | one : bytes[bit / 8] & ~one;
  }
}

bool is_one_value(const FieldInfo& field) {
  return field.show == Show::Text || field.show == Show::Raw || field.show == Show::Secret;
}

std::string format_value(const FieldInfo& field, std::span<const std::byte> bytes,
                         std::size_t index, const FormatOptions& options) {
  if (field.show == Show::Text) {
    const auto text = slice(bytes, field.bit / 8, field.count);
    return printable({reinterpret_cast<const char*>(text.data()), text.size()});
  }
  if (field.show == Show::Raw) return hex_bytes(slice(bytes, field.bit / 8, field.count));
  if (field.show == Show::Secret && !options.secrets) return "<not displayed>";
  if (field.show == Show::Secret && field.count > 1)
    return "0x" + hex_bytes(slice(bytes, field.bit / 8, field.count));
  if (field.show == Show::Gid) {
    const auto raw = slice(bytes, (field.bit + index * field.stride) / 8, 16);
    Gid gid;
    std::memcpy(gid.bytes.data(), raw.data(), gid.bytes.size());
    return to_string(gid);
  }
  if (field.nested) return {};
  const std::uint64_t raw = raw_value(field, bytes, index);
  switch (field.show) {
    case Show::Hex:
    case Show::Secret:
      return hex(raw, field.width);
    case Show::Guid:
      return to_string(Guid{raw});
    case Show::Named: {
      const std::string_view name = value_name(field.name, raw);
      return name.empty() ? "undefined (" + std::to_string(raw) + ")" : std::string(name);
    }
    case Show::Flags:
      return flags_text(field, raw);
    default:
      return std::to_string(raw);
  }
}

std::vector<FieldValue> values(const StructureInfo& structure, std::span<const std::byte> bytes,
                               const FormatOptions& options) {
  std::vector<FieldValue> out;
  append_values(structure, bytes, options, "", out);
  return out;
}

std::string dump(const StructureInfo& structure, std::span<const std::byte> bytes,
                 const FormatOptions& options) {
  constexpr std::size_t kColumn = 33;
  std::string out;
  for (const FieldValue& v : values(structure, bytes, options)) {
    std::string line = v.name + ":";
    if (line.size() < kColumn) line.append(kColumn - line.size(), '.');
    out += line + v.text + "\n";
  }
  return out;
}

std::string dump(const Mad& mad, const FormatOptions& options) {
  const std::span<const std::byte> bytes(mad.bytes);
  const MgmtClass c = mad.mgmt_class();
  std::string out = dump(describe<MadHeader>(), bytes, options);
  if (is_smp(c)) out += dump(describe<SmpHeader>(), bytes, options);
  if (c == MgmtClass::SubnAdm || is_vendor_range2(c))
    out += dump(describe<RmppHeader>(), bytes, options);
  if (c == MgmtClass::SubnAdm) out += dump(describe<SaHeader>(), bytes, options);
  if (is_vendor_range2(c)) out += dump(describe<VendorHeader>(), bytes, options);
  if (c == MgmtClass::CongestionControl) out += dump(describe<CongestionHeader>(), bytes, options);
  if (const AttributeInfo* a = find_attribute(c, mad.attribute_id()))
    out += dump(*a->structure, bytes.subspan(data_offset_of(c)), options);
  return out;
}

}  // namespace ib::wire
