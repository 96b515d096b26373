// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Links that are narrower or slower than both their ends can do.
#pragma once

#include "libdiag/discover/observed.h"

namespace ib::discover {

/// What a port can do, as the bits of PortInfo (IBA 14.2.5.6).
struct LinkSupport {
  std::uint8_t widths{};           // LinkWidthSupported
  std::uint8_t speeds{};           // LinkSpeedSupported
  std::uint8_t extended_speeds{};  // LinkSpeedExtSupported
  std::uint8_t extended_speeds2{};
};
LinkSupport support_of(const ObservedPort& port);

/// Whether both ends support a width or a speed above that of `active`, which is either of them.
/// False where the width or the speed is not known.
bool is_degraded(const LinkSupport& a, const LinkSupport& b, const fabric::Port& active);
/// The same of the cable at `port`; false where there is none, or one end did not answer.
bool is_degraded(const Observed& observed, fabric::PortRef port);

}  // namespace ib::discover
