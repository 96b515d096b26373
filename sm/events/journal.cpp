// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/events/journal.h"

#include <algorithm>

#include "libdiag/base/text.h"
#include "libdiag/fabric/names.h"

namespace sm::events {

void Journal::take(const std::vector<Event>& events, std::chrono::system_clock::time_point now) {
  for (const Event& event : events) {
    kept_.push_back({++last_number_, now, event});
    if (kept_.size() > kept_most_) kept_.pop_front();
    for (const Sink& sink : sinks_) sink(kept_.back());
  }
}

std::vector<Record> Journal::after(std::uint64_t since) const {
  const auto from = std::ranges::upper_bound(kept_, since, {}, &Record::number);
  return {from, kept_.end()};
}

std::string Journal::departure_of(std::string_view name) const {
  using ib::report::NodeShape;
  using ib::report::PortShape;
  const auto left = std::find_if(kept_.rbegin(), kept_.rend(), [&](const Record& record) {
    if (record.event.kind != Kind::NodeLeft) return false;
    const auto& node = std::get<NodeShape>(record.event.fields.front().value);
    const ib::fabric::NamedNode named{
        node.guid, node.type == ib::wire::NodeType::Switch, node.name, {}};
    return ib::fabric::find_named({&named, 1}, name, nullptr,
                                  [](std::size_t) { return std::string(); })
        .has_value();
  });
  if (left == kept_.rend()) return "";
  const auto& node = std::get<NodeShape>(left->event.fields.front().value);
  std::string text = '"' + ib::printable(node.name) + "\" (" + to_string(node.guid) + ") left at " +
                     time_text(left->time);
  // Its cables went in the same sweep, and are told behind it.
  for (auto at = left.base(); at != kept_.end() && at->time == left->time; ++at) {
    if (at->event.kind != Kind::LinkDown) continue;
    const auto& a = std::get<PortShape>(at->event.fields[0].value);
    const auto& b = std::get<PortShape>(at->event.fields[1].value);
    if (a.node_guid == node.guid) return text + "; it was on " + port_text(b);
    if (b.node_guid == node.guid) return text + "; it was on " + port_text(a);
  }
  return text;
}

}  // namespace sm::events
