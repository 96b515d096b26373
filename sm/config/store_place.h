// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// StorePlace: where the store is, as the options store and store_prefix say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libdiag/base/result.h"

namespace sm::config {

struct StorePlace {
  /// "http://HOST:PORT" or "https://...", members of one cluster of etcd; empty: the SQLite file in
  /// the state directory.
  std::vector<std::string> endpoints;

  /// "etcd://HOST[:PORT],HOST[:PORT]", "etcds://..." for TLS, or nothing. IPv6 addresses stand in
  /// brackets. An error of kind Usage says what was expected.
  static ib::Result<StorePlace> read(std::string_view text);
};

/// "/ibkit/default/": begins and ends with a slash, and has no blank in it.
ib::Result<void> check_store_prefix(std::string_view text);

}  // namespace sm::config
