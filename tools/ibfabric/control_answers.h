// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the commands of `ctl` answer with.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tools/ibfabric/control.h"

namespace ibfabric {

using Json = nlohmann::ordered_json;

/// type, node_guid and name, the shape of a node in all documents.
Json node_json(const ib::fabric::Node& node);
/// A number from 0 to `max`, and nothing behind it.
bool parse_real(std::string_view text, double max, double& out);

CtlResult usage(const std::string& message);
CtlResult refused(const ib::Error& error);
/// The answer in JSON: doc/formats.md's frame and what is particular to the command.
CtlResult in_json(const std::string& verb, const Json& fields);
CtlResult done(const CtlCommand& command, const Json& fields = Json::object());

}  // namespace ibfabric
