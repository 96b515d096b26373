// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// From a target as it was typed to a LID and a service level. A LID needs no query; a GID, GUID or
// name is looked up at the SA; for a directed route the node at its end is asked, with the M_Key.
#pragma once

#include <optional>

#include "libdiag/fabric/names.h"
#include "libdiag/mad/session.h"
#include "tools/common/target.h"
#include "tools/ibtracer/trace.h"

namespace ibtracer {

struct Destination {
  ib::Lid lid;
  ib::Sl sl;
  std::optional<Wanted> wanted{};     // nothing: a LID, or a GID that is no port's first
  std::optional<ib::mad::Grh> grh{};  // of a target by GID: as the path record has it
};

ib::Result<Destination> resolve(ib::mad::Session& session, const ib::tools::Target& target,
                                const ib::fabric::NodeNames& names = {}, std::uint64_t m_key = 0);

}  // namespace ibtracer
