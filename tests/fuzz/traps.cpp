// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Traps of any content from anybody, looks at who sent them that are answered with anything, and
// sweeps between: a trap is repressed as it came, looks are few and end, places are known, and no
// flood disables the subnet manager's own link.
#include <vector>

#include "libdiag/base/text.h"
#include "libdiag/wire/port_attributes.h"
#include "sm/core/babbling_ports.h"
#include "sm/core/trap_look.h"
#include "sm/core/trap_words.h"
#include "sm/core/unsolicited.h"
#include "tests/fuzz/device_answers.h"

namespace {

using ib::fuzz::Input;
using ib::fuzz::require;
using ib::wire::Notice;

constexpr ib::mad::Cookie kOwner = ib::mad::Cookie{1} << 48;

Notice notice_of(Input& in) {
  constexpr std::uint16_t kNumbers[] = {64,  65,  66,  67,  128, 129, 130, 131,
                                        144, 145, 256, 257, 258, 259, 0,   0xFFFF};
  Notice notice;
  const std::uint8_t how = in.byte();
  notice.is_generic = how % 16 != 15;
  notice.type = how / 16 % 5;
  notice.producer_type = in.byte() % 5;
  notice.trap_number = kNumbers[in.byte() % std::size(kNumbers)];
  notice.issuer_lid = ib::Lid{in.byte()};
  // The LID that a trap speaks of stands at one of two places.
  notice.details[in.byte() % 2 * 2 + 1U] = static_cast<std::uint8_t>(notice.issuer_lid.value);
  for (unsigned changed = in.byte() % 4; changed > 0; --changed)
    notice.details[in.byte() % notice.details.size()] = in.byte();
  return notice;
}

const std::shared_ptr<const ib::discover::Observed>& observed() {
  static const std::shared_ptr<const ib::discover::Observed> made = [] {
    auto seen = std::make_shared<ib::discover::Observed>(*ib::fuzz::subnet()->observed);
    seen->local_port = ib::fuzz::subnet()->sm_port;
    for (ib::fabric::NodeIndex n = 0; n < seen->nodes.size(); n += 2) {
      if (!seen->fabric.node(n).is_switch()) continue;
      ib::wire::PortInfo info = seen->port({n, 0}).info();
      info.capability_mask |= ib::wire::port_cap::kCapabilityMask2;
      info.capability_mask2 |= ib::wire::port_cap2::kSwitchPortStateTable;
      ib::wire::Mad mad;
      ib::wire::set_body(mad, info);
      seen->update_port({n, 0}, mad.data(), info);
    }
    return seen;
  }();
  return made;
}

class Run {
 public:
  explicit Run(Input& in) : in_(in) {}

  void step() {
    switch (in_.byte() % 8) {
      case 0:
        return take(look_.on_sweep_begun());
      case 1:
        return take(look_.on_partial_sweep_begun());
      case 2:
        now_ = now_ + std::chrono::milliseconds(in_.byte() * 10);
        [[fallthrough]];
      case 3:
        now_ = std::max(now_, std::min(look_.due(), now_ + std::chrono::seconds(2)));
        if (look_.due() <= now_) take(look_.on_time(now_, *seen_, flapping_));
        return;
      case 4:
      case 5:
        return complete();
      default:
        return trap();
    }
  }
  void settle() {
    for (auto& r : look_.take_requests()) asked_.push_back(std::move(r));
    for (auto& r : babbling_.take_requests()) {
      require(r.mad.attribute_id() == ib::wire::attr::kPortInfo, "of a port its PortInfo is set");
      const auto n = seen_->fabric.find_node(ib::Guid{r.target_key});
      require(n.has_value(), "a port of a node that is known");
      const ib::fabric::PortRef at{*n, static_cast<std::uint8_t>(r.mad.attribute_modifier())};
      require(at.port != 0 && at != seen_->local_port &&
                  seen_->fabric.port(at).peer != seen_->local_port,
              "our own link is left alone");
      asked_.push_back(std::move(r));
    }
    require(asked_.size() <= kAskedMost, "who sends traps is asked a few things");
    (void)look_.take_sweep_wanted();
    (void)look_.take_light_sweep_wanted();
    for (const auto& place : look_.take_places())
      require(seen_->fabric.find_node(place.node).has_value(), "a place is a node that is known");
    for (const auto& [guid, name] : look_.take_renamed())
      require(seen_->fabric.find_node(guid).has_value(), "a node that is known has a new name");
    while (const auto event = look_.next_log())
      require(ib::printable(event->message) == event->message, "a line");
    while (const auto event = babbling_.next_log())
      require(ib::printable(event->message) == event->message, "a line");
  }

 private:
  // Each port of each node, and what it is asked besides.
  static constexpr std::size_t kAskedMost = 1000;

  void trap() {
    const Notice notice = notice_of(in_);
    ib::mad::Packet packet;
    packet.address =
        ib::mad::smi_address(in_.byte() % 4 == 0 ? ib::Lid{in_.byte()} : notice.issuer_lid);
    packet.mad = ib::wire::make_mad(ib::wire::MgmtClass::SubnLid, ib::wire::Method::Trap,
                                    ib::wire::attr::kNotice);
    ib::wire::set_body(packet.mad, notice);
    const auto reply = sm::core::trap_repress(packet, 0x1234);
    require(ib::wire::body<Notice>(reply.mad) == notice, "a trap is repressed as it came");
    require(reply.mad.method() == ib::wire::Method::TrapRepress, "... and repressed");
    require(reply.address.lid == packet.address.lid, "... to whom it came from");
    const std::string words = sm::core::trap_words(notice, *seen_);
    require(ib::printable(words) == words, "words are one line");
    look_.on_trap(now_, packet.address.lid, notice, *seen_, in_.byte() % 4 == 0);
    const auto claim = sm::core::claim_of(notice, packet.address.lid, *seen_);
    for (unsigned again = in_.byte() % 8 == 7 ? sm::core::BabblingPorts::kFlood : 1; again > 0;
         --again)
      babbling_.on_trap(now_, notice, claim, *seen_);
  }
  void complete() {
    if (asked_.empty()) return;
    const auto at = asked_.begin() + in_.byte() % static_cast<std::ptrdiff_t>(asked_.size());
    const auto request = *at;
    asked_.erase(at);
    const auto answer = ib::fuzz::answer(request, in_);
    look_.on_completion(now_, answer, *seen_, flapping_);
    babbling_.on_completion(answer, *seen_);
  }
  void take(const std::vector<ib::mad::Cookie>& cancelled) {
    settle();
    for (const auto cookie : cancelled)
      std::erase_if(asked_, [&](const auto& r) { return r.cookie == cookie; });
  }

  Input& in_;
  ib::Instant now_{1'000'000'000};
  std::shared_ptr<const ib::discover::Observed> seen_{observed()};
  sm::core::Flapping flapping_;
  sm::core::TrapLook look_{kOwner, std::chrono::milliseconds(100)};
  sm::core::BabblingPorts babbling_{2 * kOwner};
  std::vector<ib::mad::Request> asked_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  Run run(in);
  while (!in.empty()) {
    run.step();
    run.settle();
  }
  return 0;
}
