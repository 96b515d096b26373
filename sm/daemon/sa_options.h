// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What an operator decides about subnet administration, and its key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "libdiag/base/result.h"
#include "sm/sa/server.h"

namespace sm::daemon {

struct SaOptions {
  sa::Options server;
  std::string prefix_routes_file;  // empty: packets stay in the subnet
  std::string qos_policy_file;     // empty: paths have the SL of their route
  bool key_auto{false};            // `sa_key auto`: read or made by settle_sa_key()
};

/// With `sa_key auto` the key in the state directory, made at the first start; readable by nobody
/// else. Gives what the log should say of it; empty without `auto`.
ib::Result<std::string> settle_sa_key(const std::string& state_dir, SaOptions& options);

/// The key in the text of that file; none where it holds no secret.
std::optional<std::uint64_t> parse_sa_key_file(std::string_view text);

/// What an operator should know about the key; empty when there is nothing to say.
std::string sa_key_warning(const SaOptions& options);

}  // namespace sm::daemon
