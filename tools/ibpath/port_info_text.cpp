// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibpath/port_info_text.h"

#include <fmt/format.h>

#include <array>

#include "libdiag/wire/registry.h"

namespace ibpath {
namespace {

using ib::wire::FieldInfo;
using ib::wire::PortInfo;

/// How libibmad shows a field.
enum class As { Number, Hex, Name, NameOrMark, Mask, Widths, WidthsSupported, Speeds, SpeedsExt };

struct Row {
  std::string_view field;   // the layout's name
  std::string_view theirs;  // libibmad's
  As as;
};

// In libibmad's order.
constexpr Row kRows[] = {
    {"M_Key", "Mkey", As::Hex},
    {"GidPrefix", "GidPrefix", As::Hex},
    {"LID", "Lid", As::Number},
    {"MasterSMLID", "SMLid", As::Number},
    {"CapabilityMask", "CapMask", As::Mask},
    {"DiagCode", "DiagCode", As::Hex},
    {"M_KeyLeasePeriod", "MkeyLeasePeriod", As::Number},
    {"LocalPortNum", "LocalPort", As::Number},
    {"LinkWidthEnabled", "LinkWidthEnabled", As::Widths},
    {"LinkWidthSupported", "LinkWidthSupported", As::WidthsSupported},
    {"LinkWidthActive", "LinkWidthActive", As::Name},
    {"LinkSpeedSupported", "LinkSpeedSupported", As::Speeds},
    {"PortState", "LinkState", As::NameOrMark},
    {"PortPhysicalState", "PhysLinkState", As::NameOrMark},
    {"LinkDownDefaultState", "LinkDownDefState", As::NameOrMark},
    {"M_KeyProtectBits", "ProtectBits", As::Number},
    {"LMC", "LMC", As::Number},
    {"LinkSpeedActive", "LinkSpeedActive", As::Name},
    {"LinkSpeedEnabled", "LinkSpeedEnabled", As::Speeds},
    {"NeighborMTU", "NeighborMTU", As::NameOrMark},
    {"MasterSMSL", "SMSL", As::Number},
    {"VLCap", "VLCap", As::NameOrMark},
    {"InitType", "InitType", As::Hex},
    {"VLHighLimit", "VLHighLimit", As::Number},
    {"VLArbitrationHighCap", "VLArbHighCap", As::Number},
    {"VLArbitrationLowCap", "VLArbLowCap", As::Number},
    {"InitTypeReply", "InitReply", As::Hex},
    {"MTUCap", "MtuCap", As::NameOrMark},
    {"VLStallCount", "VLStallCount", As::Number},
    {"HOQLife", "HoqLife", As::Number},
    {"OperationalVLs", "OperVLs", As::NameOrMark},
    {"PartitionEnforcementInbound", "PartEnforceInb", As::Number},
    {"PartitionEnforcementOutbound", "PartEnforceOutb", As::Number},
    {"FilterRawInbound", "FilterRawInb", As::Number},
    {"FilterRawOutbound", "FilterRawOutb", As::Number},
    {"M_KeyViolations", "MkeyViolations", As::Number},
    {"P_KeyViolations", "PkeyViolations", As::Number},
    {"Q_KeyViolations", "QkeyViolations", As::Number},
    {"GUIDCap", "GuidCap", As::Number},
    {"ClientReregister", "ClientReregister", As::Number},
    {"MulticastPKeyTrapSuppressionEnabled", "McastPkeyTrapSuppressionEnabled", As::Number},
    {"SubnetTimeOut", "SubnetTimeout", As::Number},
    {"RespTimeValue", "RespTimeVal", As::Number},
    {"LocalPhyErrors", "LocalPhysErr", As::Number},
    {"OverrunErrors", "OverrunErr", As::Number},
    {"MaxCreditHint", "MaxCreditHint", As::Number},
    {"LinkRoundTripLatency", "RoundTrip", As::Number},
    {"CapabilityMask2", "CapabilityMask2", As::Mask},
    {"LinkSpeedExtActive", "LinkSpeedExtActive", As::Name},
    {"LinkSpeedExtSupported", "LinkSpeedExtSupported", As::SpeedsExt},
    {"LinkSpeedExtEnabled", "LinkSpeedExtEnabled", As::SpeedsExt},
};

std::string hex(std::uint64_t v, std::size_t bits) {
  return fmt::format("0x{:0{}x}", v, (bits + 7) / 8 * 2);
}

/// A mask and under it the names of its bits. libibmad knows no name for bit 13 and misspells one.
std::string mask_text(const FieldInfo& field, std::uint64_t raw) {
  std::string text = fmt::format("0x{:x}", raw);
  for (const auto& bit : ib::wire::names_of(field.name)) {
    if ((raw & bit.value) == 0) continue;
    std::string_view name = bit.name;
    if (name == "IsCableInfoSupported") continue;
    if (name == "IsCommunicationManagementSupported") name = "IsCommunicatonManagementSupported";
    text += fmt::format("\n\t\t\t\t{}", name);
  }
  return text;
}

/// Names of the bits that are set; "undefined (N)" behind them where a bit has none.
std::string bits_text(const FieldInfo& field, std::uint64_t raw, unsigned known_bits) {
  std::string text;
  for (const auto& bit : ib::wire::names_of(field.name))
    if ((raw & bit.value) != 0) text += std::string(bit.name) + " or ";
  if (raw == 0 || raw >> known_bits != 0) return text + fmt::format("undefined ({})", raw);
  return text.substr(0, text.size() - 4);
}

constexpr std::string_view kExtension = " (IBA extension)";

std::string widths_text(const FieldInfo& field, std::uint64_t raw, bool supported) {
  constexpr unsigned kKnown = 5;
  // The combinations that the specification allows a port to support.
  constexpr std::array<unsigned, 10> kListed{1, 3, 7, 11, 15, 17, 19, 23, 27, 31};
  std::string text = bits_text(field, raw, kKnown);
  if (supported && raw >> kKnown == 0 &&
      std::find(kListed.begin(), kListed.end(), raw) == kListed.end())
    text += kExtension;
  return text;
}

std::string speeds_text(const FieldInfo& field, std::uint64_t raw) {
  constexpr unsigned kKnown = 3;
  std::string text = bits_text(field, raw, kKnown);
  if (raw >> kKnown == 0 && raw % 2 == 0) text += kExtension;
  return text;
}

std::string speeds_ext_text(const FieldInfo& field, std::uint64_t raw) {
  constexpr std::uint64_t kDisabled = 30;
  if (raw == 0) return "0";
  if (field.name == "LinkSpeedExtEnabled" && raw == kDisabled)
    return "Extended link speeds disabled";
  return bits_text(field, raw, 4);
}

std::string value_text(const Row& row, const FieldInfo& field, std::uint64_t raw) {
  const auto name = ib::wire::value_name(field.name, raw);
  switch (row.as) {
    case As::Number:
      return fmt::to_string(raw);
    case As::Hex:
      return hex(raw, field.width);
    case As::Name:
      return name.empty() ? fmt::format("undefined ({})", raw) : std::string(name);
    case As::NameOrMark:
      // 0 is "no change" of OperationalVLs alone.
      if (name.empty() || (field.name == "VLCap" && raw == 0)) return fmt::format("?({})", raw);
      return std::string(name);
    case As::Mask:
      return mask_text(field, raw);
    case As::Widths:
      return widths_text(field, raw, false);
    case As::WidthsSupported:
      return widths_text(field, raw, true);
    case As::Speeds:
      return speeds_text(field, raw);
    case As::SpeedsExt:
      return speeds_ext_text(field, raw);
  }
  return {};
}

}  // namespace

std::string port_info_text(const PortInfo& port, std::string_view indent, bool keys) {
  constexpr std::size_t kColumn = 33;
  const auto bytes = ib::wire::bytes_of(port);
  const auto& fields = ib::wire::describe<PortInfo>().fields;
  std::string text;
  for (const Row& row : kRows) {
    const auto field = std::ranges::find(fields, row.field, &FieldInfo::name);
    if (field == fields.end()) continue;
    const bool hidden = field->show == ib::wire::Show::Secret && !keys;
    text += fmt::format(
        "{}{:.<{}}{}\n", indent, fmt::format("{}:", row.theirs), kColumn,
        hidden ? "<not displayed>" : value_text(row, *field, ib::wire::raw_value(*field, bytes)));
  }
  return text;
}

}  // namespace ibpath
