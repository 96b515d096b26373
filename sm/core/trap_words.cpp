// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/core/trap_words.h"

#include <fmt/format.h>

#include "libdiag/fabric/labels.h"
#include "libdiag/wire/virtualization_attributes.h"

namespace sm::core {
namespace {

namespace trap = ib::wire::trap;
using ib::discover::Observed;

std::uint64_t detail_at(const ib::wire::Notice& notice, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | notice.details[at + i];
  return value;
}

std::string end_port(const ib::wire::Notice& notice, std::size_t at, const Observed& seen) {
  const ib::Lid lid{static_cast<std::uint16_t>(detail_at(notice, at, 2))};
  const auto port = seen.fabric.find_lid(lid);
  return port ? fmt::format("{} (LID {})", ib::fabric::port_label(seen.fabric, *port), lid.value)
              : fmt::format("LID {}", lid.value);
}

}  // namespace

std::string trap_words(const ib::wire::Notice& notice, const Observed& seen) {
  if (const auto of_vports = ib::wire::vport_trap(notice))
    return of_vports->number == trap::kVPortDataChange
               ? fmt::format(": something of virtual port {} changed", of_vports->index)
               : ": a virtual port changed its state";
  if (!notice.is_generic) return {};
  const std::string sender = end_port(notice, 2, seen);
  switch (notice.trap_number) {
    case trap::kBadMKey:
      return fmt::format(": a wrong M_Key from {}", sender);
    case trap::kBadPKey:
    case trap::kBadQKey:
      return fmt::format(
          ": a packet from {} to {} under the wrong {} 0x{:x}", sender, end_port(notice, 4, seen),
          notice.trap_number == trap::kBadPKey ? "P_Key" : "Q_Key", detail_at(notice, 6, 4));
    case trap::kSwitchBadPKey:
      return fmt::format(": port {} stopped a packet from {} to {} under P_Key 0x{:04x}",
                         detail_at(notice, 50, 1), sender, end_port(notice, 4, seen),
                         detail_at(notice, 6, 2));
    default:
      return {};
  }
}

}  // namespace sm::core
