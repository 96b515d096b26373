// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Base64 (RFC 4648 section 4), with padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sm::store::etcd {

std::string to_base64(std::string_view bytes);
/// nullopt: it is none.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace sm::store::etcd
