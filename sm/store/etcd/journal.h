// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Journal: what was committed while etcd could not be written, in a file on this host, so that it
// outlives the process. It belongs to one epoch of the store: once somebody else has taken that,
// it is worth nothing.
//
//   EPOCH               a line, as etcd has it (layout.h)
//   B BYTES | W BYTES   a batch, or a batch that is everything there is; then its bytes
//   (batch_code.h)
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "libdiag/base/result.h"
#include "sm/store/store.h"

namespace sm::store::etcd {

class Journal {
 public:
  struct Entry {
    bool is_whole{false};  // in the place of all before it
    Batch batch;
  };
  struct Left {
    std::string epoch;
    std::vector<Entry> entries;
    std::size_t bytes{0};  // of the file, up to where it is whole
  };

  /// An empty path: nothing is kept.
  explicit Journal(std::string path) : path_(std::move(path)) {}

  /// What the process before left; up to the first entry that is not whole.
  Left read() const;
  /// Replaces the one before. Durable when it returns, as add() is. Io: it cannot be written.
  ib::Result<void> begin(const std::string& epoch, const Entry& first);
  ib::Result<void> add(const Batch& batch);
  /// What is added follows what was left.
  ib::Result<void> resume(const Left& left);
  /// All of it is in etcd, or is worth nothing.
  void clear();
  /// For the operator to look at; gives the path.
  std::string set_aside();
  std::size_t bytes() const { return bytes_; }

 private:
  ib::Result<void> append(const Entry& entry);

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, &std::fclose};
  std::size_t bytes_{0};
};

void apply(const Journal::Left& left, Contents& contents);

}  // namespace sm::store::etcd
