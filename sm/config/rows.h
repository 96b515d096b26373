// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The parts of the option table, one file each. Inside sm/config only; others use table.h.
#pragma once

#include <span>
#include <vector>

#include "sm/config/row.h"

namespace sm::config {

/// Rows of one section.
struct Part {
  Section section;
  std::span<const Row> rows;
};

std::vector<Part> subnet_rows();  // the port, LIDs, links, sweeps
std::vector<Part> policy_rows();  // partitions, quality of service
std::vector<Part> routing_rows();
std::vector<Part> sa_rows();       // subnet administration, what survives
std::vector<Part> process_rows();  // log, process
std::vector<Part> manager_rows();  // performance, congestion control, plug-ins

}  // namespace sm::config
