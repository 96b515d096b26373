// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// SharedStore: what a store has to tell and to be told that several subnet managers write, one at a
// time. That one may have lost it to another, and what somebody answered may not be in it.
#pragma once

#include <vector>

#include "sm/store/policy_copy.h"
#include "sm/store/store.h"

namespace sm::store {

class SharedStore : public Store {
 public:
  /// The ports of the fabric that this one manages, less those of its own node: take() refuses what
  /// is another fabric's (kinship.h). Empty: nobody has looked.
  virtual void set_ports(std::vector<ib::Guid> ports) = 0;
  /// What is there now, which others go on to write; before take().
  virtual ib::Result<Contents> look() = 0;
  /// Another one has taken it.
  virtual bool is_deposed() const = 0;
  /// That one manages another subnet, which this was a part of: what is committed is kept on this
  /// host until take(), which adds it. What is kept so far. Only of one that is deposed.
  virtual Contents go_apart() = 0;
  /// These policy files are in force here: as long as the store is ours, copies of them are kept
  /// with it, written in on_time() a little at a time.
  virtual void set_policy(std::vector<PolicyCopy> copies) = 0;
  /// True once after it was found that registrations were answered which are not in it: by this one
  /// or by another.
  virtual bool take_lacks() = 0;
};

}  // namespace sm::store
