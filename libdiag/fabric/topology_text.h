// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibnetdiscover's text, read and written. The reader accepts what real tools print: chassis
// grouping (-g), -f suffixes, names with odd characters, missing LIDs, CR/LF, aggregation nodes, 2x
// widths, speeds up to XDR.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"
#include "libdiag/fabric/fabric.h"
#include "libdiag/fabric/names.h"

namespace ib::fabric {

/// Reads topology text. An error begins with `FILE:LINE:COL: expected X, got Y`. `warnings`
/// receives what is odd but usable (a cable named by one end only, two ends that disagree, two
/// nodes or ports of one GUID), one line each in the same form.
Result<Fabric> read_topology(std::string_view text, std::string_view file_name,
                             std::vector<std::string>* warnings = nullptr);
/// Of a regular file or a pipe.
Result<Fabric> read_topology_file(const std::string& path,
                                  std::vector<std::string>* warnings = nullptr);

struct TopologyTextOptions {
  bool full_info{false};     // -f: " s=.. w=.. v=.." suffixes
  std::string generated_on;  // ctime text of the header; empty omits the line
  /// Names for switch headers and far ends, as ibnetdiscover has them; a CA's own header keeps its
  /// NodeDescription.
  const NodeNames* names{nullptr};
};

/// ibnetdiscover's text: header, switches, CAs, routers; blocks sorted by GUID.
std::string topology_text(const Fabric& fabric, const TopologyTextOptions& options = {});
void write_topology(std::ostream& out, const Fabric& fabric,
                    const TopologyTextOptions& options = {});

}  // namespace ib::fabric
