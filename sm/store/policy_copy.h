// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// PolicyCopies: the texts of the operator's policy files as the master last had them in force,
// where every subnet manager that shares a store can read them. Texts of any size, so they are no
// records of the store.
#pragma once

#include <optional>
#include <string>

#include "libdiag/base/result.h"

namespace sm::store {

struct PolicyCopy {
  std::string name;       // of the kind of file, a word: "partitions.conf"
  std::string host;       // whose subnet manager had it in force; a word
  std::string directory;  // its state directory
  std::string path;       // of the file there
  std::string text;
  friend bool operator==(const PolicyCopy&, const PolicyCopy&) = default;
};

/// Not thread-safe.
class PolicyCopies {
 public:
  virtual ~PolicyCopies() = default;
  /// Nothing: there never was one. An error: what there is cannot be read, or is not kept.
  virtual ib::Result<std::optional<PolicyCopy>> read(const std::string& name) = 0;
  /// Where that is, for an operator.
  virtual std::string place(const std::string& name) const = 0;
};

}  // namespace sm::store
