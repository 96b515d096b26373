// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/registry/batch_keys.h"

namespace sm::sa {

store::Batch BatchKeys::as_in(const State& state) const {
  store::Batch batch;
  std::apply(
      [&](const auto&... kind) {
        std::apply([&](const auto&... keys) { (keys.bring(kind, batch), ...); }, keys_);
      },
      state.kinds());
  return batch;
}

}  // namespace sm::sa
