// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// From a target as it was typed to a LID and a service level. A LID needs nobody; a GID, GUID or
// name asks the SA; a directed route asks the node it leads to.
#pragma once

#include <optional>

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

ib::Result<Destination> resolve(ib::mad::Session& session, const ib::tools::Target& target);

}  // namespace ibtracer
