// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A Picture as Graphviz text, or laid out and drawn as SVG. Adapter of cgraph and gvc, which keep
// global state: one drawing at a time in a process.
#pragma once

#include <string>

#include "libdiag/base/result.h"
#include "libdiag/fabric/export/picture.h"

namespace ib::fabric {

struct DrawOptions {
  /// Layered pictures up to this many edges are laid out by dot, all others by sfdp.
  std::size_t dot_edges_max{3000};
};

/// "dot" or "sfdp".
std::string layout_engine(const Picture& picture, const DrawOptions& options = {});

/// The graph as dot reads it, not laid out; the same fabric gives the same text.
Result<std::string> dot_text(const Picture& picture, const DrawOptions& options = {});

/// The graph laid out by layout_engine() and drawn. Internal: Graphviz could not, or has no memory.
Result<std::string> svg_text(const Picture& picture, const DrawOptions& options = {});

}  // namespace ib::fabric
