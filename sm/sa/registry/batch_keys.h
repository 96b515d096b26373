// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The keys that batches change. With a state they make one batch: from the state after several
// changes all of them together, from a state before them the way back.
#pragma once

#include <tuple>
#include <type_traits>

#include "sm/sa/registry/state.h"

namespace sm::sa {

class BatchKeys {
 public:
  void add(const store::Batch& batch) {
    std::apply([&](auto&... keys) { (keys.add(batch), ...); }, keys_);
  }
  /// The batch that makes any state which differs from `state` in these keys only equal to it.
  store::Batch as_in(const State& state) const;

 private:
  template <class... Kind>
  static std::tuple<typename std::remove_cvref_t<Kind>::BatchKeys...> keys_of(std::tuple<Kind...>);

  decltype(keys_of(std::declval<const State&>().kinds())) keys_;
};

}  // namespace sm::sa
