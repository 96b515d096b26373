// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// How what clients register is kept: the store, the SA dump.
#pragma once

#include <optional>
#include <string>

#include "libdiag/base/instant.h"
#include "sm/store/etcd/open.h"
#include "sm/store/store.h"

namespace sm::daemon {

struct RegistryOptions {
  std::optional<store::EtcdOptions> etcd;  // none: the state directory
  store::Sync sync{store::Sync::Normal};
  std::string sa_db_file;  // read at the start; empty: none
  /// Between two dumps to STATE_DIR/opensm-sa.dump; 0: none.
  ib::Duration dump_every{std::chrono::seconds(30)};
};

}  // namespace sm::daemon
