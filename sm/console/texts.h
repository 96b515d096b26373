// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The commands that have a file of their own, for the table of commands.
#pragma once

#include <string>
#include <string_view>

#include "sm/console/command.h"

namespace sm::console {

/// Text and status of a command that was not done.
Outcome failed(int status, std::string text);
/// `what` is wrong, and how the command is written.
Outcome usage(std::string_view what, std::string_view command);
/// "0x0002c90200400000 (leaf-001)": a node, with `before_name` between the two.
std::string node_text(const ib::fabric::Fabric& fabric, ib::fabric::NodeIndex node,
                      std::string_view before_name = " ");
/// What commands that need a swept subnet say before there is one, behind `before`.
Outcome not_ready(std::string before = {});

Outcome status(const View& view, Words words);
Outcome port_status(const View& view, Words words);
Outcome query_lid(const View& view, Words words);
Outcome switch_balance(const View& view, Words words);
Outcome lid_balance(const View& view, Words words);
Outcome dump_port_guids(const View& view, Words words);
Outcome counters(const View& view, Words words);  // perfmgr, pm

}  // namespace sm::console
