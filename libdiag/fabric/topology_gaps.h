// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a topology file lacks of its fabric, told from other warnings about it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ib::fabric {

/// In the warning about nodes that cables lead to and that the file does not have.
inline constexpr std::string_view kUndescribed = "the file does not describe";
/// In that warning, where the file ends too early for certain and by its looks.
inline constexpr std::string_view kEndsInTheMiddle = ": it ends in the middle of line ";
inline constexpr std::string_view kTruncated = ": is it truncated?";

/// What of the fabric a topology file lacks, which makes it incomplete; other warnings do not.
struct TopologyGaps {
  std::vector<std::string> lines;  // the warnings that say so
  std::string summary;             // a clause: "the topology file ends in the middle"; empty: none
};
/// Moves these out of the warnings.
TopologyGaps take_gaps(std::vector<std::string>& warnings);

}  // namespace ib::fabric
