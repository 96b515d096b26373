// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/apply/work.h"

namespace sm::apply {

std::string_view describe(Kind kind) {
  switch (kind) {
    case Kind::SetPort:
      return "Set(PortInfo)";
    case Kind::GetPort:
      return "Get(PortInfo)";
    case Kind::SetSwitch:
      return "Set(SwitchInfo)";
    case Kind::GetSwitch:
      return "Get(SwitchInfo)";
    case Kind::SetLft:
      return "Set(LinearForwardingTable)";
    case Kind::GetLft:
      return "Get(LinearForwardingTable)";
    case Kind::SetMft:
      return "Set(MulticastForwardingTable)";
    case Kind::GetMft:
      return "Get(MulticastForwardingTable)";
    case Kind::SetBlock:
      return "Set";
    case Kind::GetBlock:
    case Kind::Probe:
      return "Get";
  }
  return "";
}

InFlight::Tag InFlight::add(const Work& work) {
  if (free_.empty()) {
    works_.push_back(work);
    return static_cast<Tag>(works_.size() - 1);
  }
  const Tag tag = free_.back();
  free_.pop_back();
  works_[tag] = work;
  return tag;
}

Work InFlight::take(Tag tag) {
  free_.push_back(tag);
  return works_[tag];
}

}  // namespace sm::apply
