// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a plan leaves behind: a folder of dumps, and a picture.
#pragma once

#include <string>

#include "libdiag/base/result.h"
#include "libdiag/route/choose/plan.h"

namespace ib::report {

/// Into `directory`, made if missing: fabric.topo (with the LIDs), dump_fts.txt, opensm-lfts.dump,
/// opensm-sl2vl.dump and path-sls.dump. An error is of kind Io and names the file.
Result<void> write_dumps(const std::string& directory, const route::Plan& plan);

/// The fabric as SVG, links coloured by their routes relative to the floor that no routing is
/// below. `title` says which fabric.
Result<void> draw_loads(const std::string& path, const std::string& title, const route::Plan& plan);

}  // namespace ib::report
