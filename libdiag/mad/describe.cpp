// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/mad/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace ib::mad {
namespace {

using wire::Mad;
using wire::Method;
using wire::MgmtClass;

struct AttributeName {
  std::uint16_t id;
  std::string_view name;
};

namespace attr = wire::attr;
constexpr AttributeName kSmpNames[] = {
    {attr::kNotice, "Notice"},
    {attr::kNodeDescription, "NodeDescription"},
    {attr::kNodeInfo, "NodeInfo"},
    {attr::kSwitchInfo, "SwitchInfo"},
    {attr::kGuidInfo, "GUIDInfo"},
    {attr::kPortInfo, "PortInfo"},
    {attr::kPKeyTable, "P_KeyTable"},
    {attr::kSlToVl, "SLtoVLMappingTable"},
    {attr::kVlArbitration, "VLArbitrationTable"},
    {attr::kLinearForwarding, "LinearForwardingTable"},
    {attr::kMulticastForwarding, "MulticastForwardingTable"},
    {attr::kSmInfo, "SMInfo"},
    {attr::kMlnxExtendedPortInfo, "MlnxExtendedPortInfo"},
};
constexpr AttributeName kSaNames[] = {
    {attr::kClassPortInfo, "ClassPortInfo"},   {attr::kNotice, "Notice"},
    {attr::kInformInfo, "InformInfo"},         {attr::kNodeRecord, "NodeRecord"},
    {attr::kPortInfoRecord, "PortInfoRecord"}, {attr::kPathRecord, "PathRecord"},
    {attr::kMcMemberRecord, "MCMemberRecord"},
};
constexpr AttributeName kPerfNames[] = {
    {attr::kClassPortInfo, "ClassPortInfo"},
    {attr::kPortCounters, "PortCounters"},
    {attr::kPortCountersExtended, "PortCountersExtended"},
};
constexpr AttributeName kIbtracerNames[] = {
    {attr::kClassPortInfo, "ClassPortInfo"},
    {attr::kSourceRoute, "SourceRoute"},
};
constexpr AttributeName kPingNames[] = {
    {attr::kPing, "Ping"},
    {attr::kClassPortInfo, "ClassPortInfo"},
};
constexpr AttributeName kOtherNames[] = {
    {attr::kClassPortInfo, "ClassPortInfo"},
    {attr::kNotice, "Notice"},
    {attr::kInformInfo, "InformInfo"},
};

std::span<const AttributeName> names_of(MgmtClass c) {
  switch (c) {
    case MgmtClass::SubnLid:
    case MgmtClass::SubnDirected:
      return kSmpNames;
    case MgmtClass::SubnAdm:
      return kSaNames;
    case MgmtClass::Perf:
      return kPerfNames;
    case MgmtClass::VendorIbtracer:
      return kIbtracerNames;
    case MgmtClass::VendorPing:
      return kPingNames;
    default:
      return kOtherNames;
  }
}

}  // namespace

std::string class_name(MgmtClass c) {
  switch (c) {
    case MgmtClass::SubnLid:
      return "SubnLid";
    case MgmtClass::SubnAdm:
      return "SubnAdm";
    case MgmtClass::Perf:
      return "Perf";
    case MgmtClass::BoardMgmt:
      return "BoardMgmt";
    case MgmtClass::DevMgt:
      return "DevMgt";
    case MgmtClass::Comm:
      return "Comm";
    case MgmtClass::CongestionControl:
      return "CongestionControl";
    case MgmtClass::VendorIbtracer:
      return "Ibtracer";
    case MgmtClass::VendorPing:
      return "Ping";
    case MgmtClass::SubnDirected:
      return "SubnDirected";
  }
  return fmt::format("0x{:02x}", static_cast<unsigned>(c));
}

std::string method_name(Method m) {
  switch (m) {
    case Method::Get:
      return "Get";
    case Method::Set:
      return "Set";
    case Method::Send:
      return "Send";
    case Method::Trap:
      return "Trap";
    case Method::Report:
      return "Report";
    case Method::TrapRepress:
      return "TrapRepress";
    case Method::GetTable:
      return "GetTable";
    case Method::GetTraceTable:
      return "GetTraceTable";
    case Method::GetMulti:
      return "GetMulti";
    case Method::Delete:
      return "Delete";
    case Method::GetResp:
      return "GetResp";
    case Method::ReportResp:
      return "ReportResp";
    case Method::GetTableResp:
      return "GetTableResp";
    case Method::GetMultiResp:
      return "GetMultiResp";
    case Method::DeleteResp:
      return "DeleteResp";
  }
  return fmt::format("0x{:02x}", static_cast<unsigned>(m));
}

std::string attribute_name(MgmtClass c, std::uint16_t attribute) {
  for (const AttributeName& known : names_of(c))
    if (known.id == attribute) return std::string(known.name);
  return fmt::format("0x{:04x}", attribute);
}

std::string target_name(const Address& address, const Mad& mad) {
  if (!mad.is_directed()) return fmt::format("LID {}", address.lid.value);
  // The path is from the wire: no more of it than the array holds.
  const auto hops = std::min<std::size_t>(mad.get<&wire::SmpHeader::hop_count>(), 63);
  const auto path = mad.get<&wire::SmpHeader::initial_path>();
  std::string text = "DR path 0";
  for (std::size_t i = 1; i <= hops; ++i) text += fmt::format(",{}", path[i]);
  return text;
}

std::string describe(const Address& address, const Mad& mad) {
  const MgmtClass c = mad.mgmt_class();
  return fmt::format("{}{}{}({}) to {}", wire::is_smp(c) ? "" : class_name(c),
                     wire::is_smp(c) ? "" : " ", method_name(mad.method()),
                     attribute_name(c, mad.attribute_id()), target_name(address, mad));
}

}  // namespace ib::mad
