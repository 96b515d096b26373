// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// StubbornPorts: ports that answered a Set with something else than was asked. Asked the same again
// they would answer the same again. Not so a LID, and that of the subnet manager, without which
// nothing comes or goes: a port that did not take one may do so later, and is asked each time.
// Whole fabrics can be of one opinion, so each is kept once.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "libdiag/base/ids.h"
#include "sm/plan/desired.h"

namespace sm::apply {

class StubbornPorts {
 public:
  StubbornPorts() = default;
  StubbornPorts(const StubbornPorts&) = delete;  // of places in itself
  StubbornPorts& operator=(const StubbornPorts&) = delete;

  /// The port was asked for `want` and answered `held`, in the same terms (plan::held()).
  void note(ib::Guid node, std::uint8_t port, const plan::PortWant& want,
            const plan::PortWant& held);
  /// It was asked for `want` before, and answered what it holds now.
  bool contains(ib::Guid node, std::uint8_t port, const plan::PortWant& want,
                const plan::PortWant& held) const;
  /// It was told this LID of its subnet manager, and answered with that one.
  bool keeps_manager(ib::Guid node, std::uint8_t port, ib::Lid want, ib::Lid held) const;

 private:
  struct Refusal {
    plan::PortWant want, held;
    friend auto operator<=>(const Refusal&, const Refusal&) = default;
  };
  static Refusal refusal(plan::PortWant want, plan::PortWant held);
  const Refusal* find(ib::Guid node, std::uint8_t port) const;

  std::set<Refusal> refusals_;
  std::unordered_map<ib::Guid, std::vector<const Refusal*>> by_node_;  // then by port
};

}  // namespace sm::apply
