// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A file of port groups as routing chains have them: paragraphs `port-group` ... `end-port-group`
// with rules (doc/port-groups.md). The other kind of such a file has the paragraphs of a QoS
// policy file, inside `port-groups` (qos_file.h); the first line tells which it is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/diagnostic.h"
#include "libdiag/fabric/port_groups.h"
#include "sm/policy/qos_file.h"

namespace sm::policy {

/// Whether the first line that says something is `port-group`.
bool has_group_rules(std::string_view text);

struct PortGroupFile {
  ib::fabric::PortGroups groups;
  std::vector<ib::Diagnostic> diagnostics;  // in the order of their places
};
/// With an error among the diagnostics there are no groups.
PortGroupFile read_port_group_file(std::string_view text, const std::string& file);

/// Those of a file of either kind, as partitions and rate limits name them. With an error among
/// `diagnostics` they are not to be used.
std::vector<PortGroup> read_any_port_groups(std::string_view text, const std::string& file,
                                            std::vector<ib::Diagnostic>& diagnostics);

}  // namespace sm::policy
