// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/touched.h"

namespace sm::sa {

store::Batch Touched::as_in(const State& state) const {
  store::Batch batch;
  std::apply(
      [&](const auto&... kind) {
        std::apply([&](const auto&... keys) { (keys.bring(kind, batch), ...); }, keys_);
      },
      state.kinds());
  return batch;
}

}  // namespace sm::sa
