// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What other subnet managers may say to one, in any order: SMInfo requests of every state, modifier
// and key, answers, silence, sweeps that find others. It is in one state at a time, every request
// has one answer, and it manages the subnet as a master only.
#include <vector>

#include "sm/core/election.h"
#include "sm/core/mastership.h"
#include "tests/fuzz/fuzz.h"

namespace {

using ib::fuzz::Input;
using ib::fuzz::require;
using ib::wire::Method;
using ib::wire::SmInfo;
using ib::wire::SmState;
using sm::core::Mastership;

constexpr ib::mad::Cookie kOwner = ib::mad::Cookie{1} << 48;

/// A switch with three hosts, of which `managers` says whose ports have a subnet manager. The first
/// host is ours.
ib::discover::Observed fabric(unsigned managers) {
  ib::discover::Observed seen;
  for (std::uint64_t i = 0; i < 4; ++i) {
    ib::fabric::Node node;
    node.type = i == 0 ? ib::wire::NodeType::Switch : ib::wire::NodeType::ChannelAdapter;
    node.guid = ib::Guid{0x100 + i};
    node.num_ports = i == 0 ? 4 : 1;
    const auto n = seen.fabric.add_node(node);
    auto& observed = seen.nodes.emplace_back();
    observed.info.node_guid = node.guid;
    seen.ports.resize(seen.fabric.port_count());
    auto& end = seen.fabric.port(n, i == 0 ? 0 : 1);
    end.guid = ib::Guid{i};
    end.lid = ib::Lid{static_cast<std::uint16_t>(i + 1)};
    ib::wire::PortInfo info;
    info.lid = end.lid;
    if (i > 0 && (managers >> i & 1U) != 0) info.capability_mask = ib::wire::port_cap::kIsSm;
    std::byte bytes[64]{};
    ib::wire::encode(info, bytes);
    seen.update_port({n, static_cast<std::uint8_t>(i == 0 ? 0 : 1)}, bytes, info);
  }
  for (std::uint8_t i = 1; i < 4; ++i) {
    seen.fabric.port(0, i).peer = {i, 1};
    seen.fabric.port(i, 1).peer = {0, i};
  }
  seen.local_port = {1, 1};
  seen.fabric.reindex();
  return seen;
}

SmInfo info_of(Input& in) {
  SmInfo info;
  info.guid = ib::Guid{in.byte() % 5U};
  info.sm_key = in.byte() % 3U;
  info.act_count = in.byte();
  const std::uint8_t both = in.byte();
  info.priority = both >> 4U;
  info.sm_state = static_cast<SmState>(both & 0xFU);
  return info;
}

class Run {
 public:
  explicit Run(Input& in) : in_(in), mastership_(options(in), kOwner) { mastership_.start(now_); }

  void step() {
    switch (in_.byte() % 4) {
      case 0:
        return ask();
      case 1:
        return complete();
      case 2:
        now_ = now_ + std::chrono::milliseconds(100 * in_.byte());
        if (mastership_.due() <= now_) mastership_.on_time(now_);
        return;
      default:
        seen_ = fabric(in_.byte());
        if (mastership_.sweeps()) mastership_.on_swept(now_, seen_);
    }
  }
  void settle() {
    for (auto& r : mastership_.take_requests()) asked_.push_back(r.cookie);
    for (const auto cookie : mastership_.take_cancelled()) std::erase(asked_, cookie);
    bool stands_down = false;
    while (const auto order = mastership_.next_order())
      stands_down = stands_down || *order == Mastership::Order::StandDown;
    require(!stands_down || was_master_, "who was no master does not stand down");
    require(!was_master_ || mastership_.is_master() || stands_down, "a master says that it ends");
    (void)mastership_.take_packets();
    while (mastership_.next_log()) {
    }
    was_master_ = mastership_.is_master();
    require(mastership_.state() <= SmState::Master, "four states");
    require(mastership_.headline().starts_with("SUBNET "), "a headline");
    if (!mastership_.is_decided() || !mastership_.sweeps()) return;
    const bool manages = mastership_.conclude(now_);
    require(!manages || mastership_.is_master(), "who manages is master");
    was_master_ = was_master_ || mastership_.is_master();
  }

 private:
  static sm::core::MastershipOptions options(Input& in) {
    sm::core::MastershipOptions o;
    o.port_guid = ib::Guid{1};
    o.priority = in.byte() % 16;
    o.sm_key = in.byte() % 3;
    o.start_inactive = in.byte() % 4 == 0;
    if (in.byte() % 4 == 0) o.allowed = {ib::Guid{2}};
    return o;
  }
  void ask() {
    ib::mad::Packet packet;
    const std::uint8_t how = in_.byte();
    packet.address = ib::mad::smi_address(ib::Lid{static_cast<std::uint16_t>(how % 8)});
    packet.mad = ib::wire::make_mad(
        (how & 16) != 0 ? ib::wire::MgmtClass::SubnDirected : ib::wire::MgmtClass::SubnLid,
        (how & 32) != 0 ? Method::Set : Method::Get, ib::wire::attr::kSmInfo, in_.byte() % 8);
    packet.mad.set<&ib::wire::SmpHeader::hop_count>(packet.mad.is_directed() ? in_.byte() : 0);
    ib::wire::set_body(packet.mad, info_of(in_));
    const auto before = mastership_.state();
    const auto reply = mastership_.answer(now_, packet, seen_);
    if (!reply) {
      const bool is_handover =
          sm::core::election::control_packet(packet.mad.attribute_modifier()) ==
          sm::core::election::Event::Handover;
      return require(
          packet.mad.method() == Method::Get || (packet.mad.is_directed() && is_handover),
          "a Set is answered at once, unless it is asked first who hands over");
    }
    const auto status = static_cast<std::uint16_t>(reply->mad.status() & 0x7FFF);
    require(status == 0 || mastership_.state() == before, "what is refused changes nothing");
  }
  void complete() {
    if (asked_.empty()) return;
    ib::mad::Completion completion;
    const std::size_t at = in_.byte() % asked_.size();
    completion.cookie = asked_[at];
    asked_.erase(asked_.begin() + static_cast<std::ptrdiff_t>(at));
    const std::uint8_t how = in_.byte();
    if (how % 4 == 0) {
      completion.reply = ib::fail(ib::ErrorKind::TimedOut, "no answer");
    } else {
      ib::mad::Packet answer;
      answer.mad = ib::wire::make_mad(ib::wire::MgmtClass::SubnLid, Method::GetResp,
                                      ib::wire::attr::kSmInfo);
      if (how % 4 == 1) answer.mad.set<&ib::wire::MadHeader::status>(0x000C);
      ib::wire::set_body(answer.mad, info_of(in_));
      completion.reply = std::move(answer);
    }
    mastership_.on_completion(now_, completion);
  }

  Input& in_;
  ib::Instant now_{1'000'000'000};
  ib::discover::Observed seen_;
  Mastership mastership_;
  std::vector<ib::mad::Cookie> asked_;
  bool was_master_{false};
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  Run run(in);
  run.settle();
  while (!in.empty()) {
    run.step();
    run.settle();
  }
  return 0;
}
