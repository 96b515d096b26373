// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/device/tables/kinds.h"

#include <array>

#include "libdiag/wire/smp_attributes.h"

namespace sm::device {

std::span<const TableKind* const> table_kinds() {
  static constexpr std::array<const TableKind*, 4> kKinds{&kGuidInfo, &kPKeyTable, &kSlToVl,
                                                          &kVlArbitration};
  return kKinds;
}

std::string_view table_name(std::uint16_t attribute) {
  for (const TableKind* kind :
       {&kGuidInfo, &kPKeyTable, &kSlToVl, &kGeneralInfo, &kExtendedPortInfo, &kQosConfigSl,
        &kVlArbitration, &kArInfo, &kArGroup, &kArLft})
    if (kind->attribute == attribute) return kind->name;
  return attribute == ib::wire::attr::kPortInfo ? "PortInfo" : "table";
}

}  // namespace sm::device
