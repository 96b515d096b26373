// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// One request of an Apply to one node, and what is under way. Inside sm/apply only.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "libdiag/mad/request.h"
#include "sm/apply/block_work.h"

namespace sm::apply {

enum class Kind : std::uint8_t {
  SetPort,
  GetPort,
  SetSwitch,
  GetSwitch,
  SetLft,
  GetLft,
  SetMft,
  GetMft,
  SetBlock,
  GetBlock,
  Probe  // Get of a block that says whether a switch lost its SL2VL and VL arbitration
};

/// One request to one node.
struct Work {
  Kind kind{};
  std::uint32_t arg{};  // a port, an LFT block, MFT block << 4 | position
  Ask ask{};            // of a block
  ib::fabric::NodeIndex node{};
  bool state_stays{false};  // of SetPort, whatever the phase

  bool is_block() const { return kind >= Kind::SetBlock; }
  bool is_port() const { return kind == Kind::SetPort || kind == Kind::GetPort; }
  std::uint8_t port() const { return static_cast<std::uint8_t>(arg); }
};

constexpr bool is_set(Kind kind) {
  return kind == Kind::SetPort || kind == Kind::SetSwitch || kind == Kind::SetLft ||
         kind == Kind::SetMft || kind == Kind::SetBlock;
}

/// "Set(PortInfo)": for complaints. Of a block the method alone.
std::string_view describe(Kind kind);

/// What is under way. A request carries its tag in its cookie, and its answer comes back with it.
class InFlight {
 public:
  using Tag = std::uint32_t;
  Tag add(const Work& work);
  /// Precondition: the tag was added and not taken since.
  Work take(Tag tag);
  std::size_t size() const { return works_.size() - free_.size(); }

 private:
  std::vector<Work> works_;  // by tag
  std::vector<Tag> free_;
};

}  // namespace sm::apply
