// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The fabric of a scenario: drawn line by line, or made by the words of `ibfabric gen`.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "libdiag/fabric/fabric.h"

namespace scenario {

/// What is wrong with a command; shown as its output.
struct Complaint : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::vector<std::string> words_of(std::string_view line);
unsigned number_of(const std::string& word, unsigned max);

/// Lines of a drawing, in any number:
///   switch NAME PORTS      host NAME [PORTS]      cable NAME PORT NAME PORT
/// GUIDs follow from the order of the lines.
ib::fabric::Fabric draw(const std::vector<std::string>& lines);

/// A node by its description or by the first word of it.
ib::fabric::NodeIndex find(const ib::fabric::Fabric& fabric, const std::string& name);
/// Of a host, its first port with a cable.
ib::fabric::PortRef host_port(const ib::fabric::Fabric& fabric, const std::string& name);
/// The first word of a node's description.
std::string short_name(const ib::fabric::Fabric& fabric, ib::fabric::NodeIndex node);

}  // namespace scenario
