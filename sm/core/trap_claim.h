// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// TrapClaim: what a trap says, and what one would have to ask to know whether it is true. Pure. A
// port may speak of itself, and a switch of its ports; of others nobody is believed.
#pragma once

#include "libdiag/discover/observed.h"

namespace sm::core {

struct TrapClaim {
  enum class Kind {
    Nothing,      // of no consequence for the subnet manager
    Forged,       // speaks of another port than its sender's
    Stranger,     // no known port has the sender's LID
    LinkState,    // some port of a switch: SwitchInfo tells
    PortInfo,     // capabilities, errors or the link of a CA's or router's port
    Description,  // its NodeDescription alone
    SystemImage,  // its SystemImageGUID: NodeInfo tells
  };
  Kind kind{Kind::Nothing};
  ib::fabric::PortRef sender;  // an end port; of a switch port 0
};

/// `from` is the LID that the trap came from. Traps 128 to 131, 144 and 145 are claims.
TrapClaim claim_of(const ib::wire::Notice& notice, ib::Lid from,
                   const ib::discover::Observed& seen);

}  // namespace sm::core
