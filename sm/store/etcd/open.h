// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Opens the store on etcd.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sm/store/board.h"
#include "sm/store/policy_copy.h"
#include "sm/store/store.h"

namespace sm::store {

struct EtcdOptions {
  std::vector<std::string> endpoints;  // "http://HOST:PORT", "https://HOST:PORT"
  std::string prefix;                  // of all keys; ends with a slash
  std::string fabric;                  // what it is known by; a word
  std::string user, password_file;     // empty: none
  std::string ca, certificate, key;    // files in PEM; empty: the system's authorities, none, none
};

/// Reads what is kept there; nothing is written before Store::take(). Where etcd cannot be reached
/// memory stands in, and the lines are alarms. Unavailable: what is there is of a newer release or
/// another fabric. Malformed: it is damaged. Refused: etcd does not let us. Io: the password cannot
/// be read.
ib::Result<Opened> open_etcd(const EtcdOptions& options);
/// Likewise; and takes the lock of `directory`, where backups are, for the store's lifetime.
/// Unavailable, too, when another ibsm has it.
ib::Result<Opened> open_etcd(const EtcdOptions& options, const std::string& directory);

/// The board of those that share that store, for a thread of its own; `who` is a word. Io: the
/// password cannot be read. etcd is not asked yet.
ib::Result<std::unique_ptr<Board>> open_etcd_board(const EtcdOptions& options,
                                                   const std::string& who);
/// Likewise the copies of policy files that are kept with that store.
ib::Result<std::unique_ptr<PolicyCopies>> open_etcd_policy(const EtcdOptions& options);

}  // namespace sm::store
