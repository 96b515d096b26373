// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The sweep against answers that are wrong in one field, or at random: it must end, name the
// culprit, and find everything else.
#include "libdiag/discover/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "libdiag/fabric/generate.h"
#include "libdiag/sim/model.h"

namespace {

using ib::Instant;
using ib::discover::implausible;
using ib::discover::Observed;
using ib::discover::Sweep;
using ib::discover::Trouble;
using ib::fabric::Fabric;
using ib::fabric::NodeIndex;
using ib::fabric::PortRef;
using ib::wire::NodeInfo;
using ib::wire::PortInfo;

Fabric small_tree() {
  ib::fabric::FatTree tree;
  tree.radix = 4;
  return *ib::fabric::generate(tree);
}

/// Answers of a model, each shown to `spoil` before the sweep sees it. No answer when it says
/// false.
using Spoil = std::function<bool(const ib::mad::Request&, ib::wire::Mad&)>;

Observed run(const Fabric& topology, const Spoil& spoil = {},
             ib::discover::SweepOptions options = {}) {
  ib::sim::Model model(topology);
  PortRef at;
  for (NodeIndex n = 0; n < topology.nodes().size() && !at; ++n)
    if (!topology.node(n).is_switch()) at = {n, 1};
  Sweep sweep(std::move(options));
  Instant now{1};
  std::uint64_t tid = 0;
  std::size_t asked = 0;
  while (!sweep.done()) {
    auto requests = sweep.take_requests();
    if (requests.empty()) {
      ADD_FAILURE() << "the sweep is stuck";
      break;
    }
    for (auto& request : requests) {
      if (++asked > 20000) {
        ADD_FAILURE() << "the sweep does not end";
        return sweep.take_observed();
      }
      request.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{++tid});
      model.send(now, at, true, {request.address, request.mad, {}});
      while (model.next_event() != ib::kNever) {
        now = std::max(now, model.next_event());
        model.advance(now);
      }
      ib::mad::Completion done{
          request.cookie, ib::fail(ib::ErrorKind::TimedOut, "no answer"), {}, 8};
      while (auto* delivery = model.next_delivery()) {
        if (delivery->packet.mad.tid().value != tid) continue;
        if (!spoil || spoil(request, delivery->packet.mad)) done.reply = delivery->packet;
      }
      sweep.on_completion(now, done);
    }
  }
  return sweep.take_observed();
}

TEST(Sweep, NodesAreCalledAsTheMapSaysAndKeepTheirDescription) {
  const Fabric topology = small_tree();
  ib::discover::SweepOptions options;
  options.names = std::make_shared<const ib::fabric::NodeNames>(
      *ib::fabric::NodeNames::read(to_string(topology.node(0).guid) + " \"core\"\n", "map"));
  const Observed seen = run(topology, {}, options);
  for (const auto& node : seen.fabric.nodes()) {
    const auto& own = topology.node(*topology.find_node(node.guid)).description;
    EXPECT_EQ(node.description, own);
    EXPECT_EQ(node.name(), node.guid == topology.node(0).guid ? "core" : own);
  }
}

TEST(Sweep, FindsEveryNodeAndCable) {
  const Fabric f = small_tree();
  const Observed seen = run(f);
  EXPECT_TRUE(seen.complete);
  EXPECT_THAT(seen.troubles, testing::IsEmpty());
  EXPECT_EQ(seen.fabric.nodes().size(), f.nodes().size());
  EXPECT_EQ(seen.fabric.link_count(), f.link_count());
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) {
    const auto found = seen.fabric.find_node(f.node(n).guid);
    ASSERT_TRUE(found);
    EXPECT_EQ(seen.fabric.node(*found).description, f.node(n).description);
    for (unsigned p = 1; p <= f.node(n).num_ports; ++p) {
      const PortRef a = f.port(n, p).peer, b = seen.fabric.port(*found, p).peer;
      ASSERT_EQ(static_cast<bool>(a), static_cast<bool>(b));
      if (!a) continue;
      EXPECT_EQ(f.node(a.node).guid, seen.fabric.node(b.node).guid);
      EXPECT_EQ(a.port, b.port);
    }
  }
}

TEST(Sweep, ExtendedSpeedsAreBelievedWhereTheyWereAskedFor) {
  const Fabric f = small_tree();
  // Without the bit in the modifier a device may leave anything in those fields.
  const Observed seen = run(f, [&](const ib::mad::Request& r, ib::wire::Mad& answer) {
    if (r.mad.attribute_id() == ib::wire::attr::kPortInfo &&
        (r.mad.attribute_modifier() & ib::wire::kPortInfoSmSupportsExtendedSpeeds) == 0) {
      auto info = ib::wire::body<PortInfo>(answer);
      info.link_speed_ext_active = info.link_speed_ext_supported = 0;
      ib::wire::set_body(answer, info);
    }
    return true;
  });
  EXPECT_THAT(seen.troubles, testing::IsEmpty());
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    for (unsigned p = 1; p <= f.node(n).num_ports; ++p)
      if (f.port(n, p).peer) {
        const auto found = *seen.fabric.find_node(f.node(n).guid);
        EXPECT_EQ(seen.fabric.port(found, p).speed, f.port(n, p).speed);
        EXPECT_TRUE(seen.port({found, static_cast<std::uint8_t>(p)}).extended);
      }
}

struct FieldCase {
  const char* name;
  std::uint16_t attribute;
  void (*spoil)(ib::wire::Mad&);
};
template <auto Member>
void set_body_field(ib::wire::Mad& mad, std::uint64_t value) {
  using Traits = ib::wire::MemberTraits<decltype(Member)>;
  ib::wire::View<typename Traits::structure>(mad.data())
      .template set<Member>(ib::wire::from_raw<typename Traits::type>(value));
}
namespace attr = ib::wire::attr;
const FieldCase kFields[] = {
    {"NodeType", attr::kNodeInfo,
     [](ib::wire::Mad& m) { set_body_field<&NodeInfo::node_type>(m, 9); }},
    {"NumPorts", attr::kNodeInfo,
     [](ib::wire::Mad& m) { set_body_field<&NodeInfo::num_ports>(m, 0); }},
    {"NumPorts", attr::kNodeInfo,
     [](ib::wire::Mad& m) { set_body_field<&NodeInfo::num_ports>(m, 255); }},
    {"NodeGUID", attr::kNodeInfo,
     [](ib::wire::Mad& m) { set_body_field<&NodeInfo::node_guid>(m, 0); }},
    {"PortGUID", attr::kNodeInfo,
     [](ib::wire::Mad& m) { set_body_field<&NodeInfo::port_guid>(m, ~std::uint64_t{0}); }},
    {"LocalPortNum", attr::kNodeInfo,
     [](ib::wire::Mad& m) { set_body_field<&NodeInfo::local_port_num>(m, 200); }},
    {"LocalPortNum", attr::kPortInfo,
     [](ib::wire::Mad& m) { set_body_field<&PortInfo::local_port_num>(m, 200); }},
    {"PortState", attr::kPortInfo,
     [](ib::wire::Mad& m) { set_body_field<&PortInfo::port_state>(m, 0); }},
    {"MTUCap", attr::kPortInfo, [](ib::wire::Mad& m) { set_body_field<&PortInfo::mtu_cap>(m, 0); }},
    {"VLCap", attr::kPortInfo, [](ib::wire::Mad& m) { set_body_field<&PortInfo::vl_cap>(m, 0); }},
    {"status 0x0004", attr::kPortInfo,
     [](ib::wire::Mad& m) { m.set<&ib::wire::SmpHeader::status>(ib::wire::status::kBadVersion); }},
    {"AttributeID", attr::kPortInfo,
     [](ib::wire::Mad& m) { m.set<&ib::wire::MadHeader::attribute_id>(0x7777); }},
};

class SweepField : public testing::TestWithParam<FieldCase> {};

TEST_P(SweepField, OneHostThatLiesIsNamedAndTheRestIsFound) {
  const Fabric f = small_tree();
  // The liar: the last host, known by the route its first answer came by.
  NodeIndex liar = 0;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch()) liar = n;
  const Observed honest = run(f);
  const auto route = honest.nodes[*honest.fabric.find_node(f.node(liar).guid)].route;
  const auto same_route = [&](const ib::mad::Request& r) {
    if (r.mad.get<&ib::wire::SmpHeader::hop_count>() != route.hops.size()) return false;
    const auto path = r.mad.get<&ib::wire::SmpHeader::initial_path>();
    return std::equal(route.hops.begin(), route.hops.end(), path.begin() + 1);
  };
  const Observed seen = run(f, [&](const ib::mad::Request& r, ib::wire::Mad& answer) {
    if (r.mad.attribute_id() == GetParam().attribute && same_route(r)) GetParam().spoil(answer);
    return true;
  });
  ASSERT_EQ(seen.troubles.size(), 1U);
  EXPECT_THAT(seen.troubles[0].message, testing::HasSubstr(GetParam().name));
  std::size_t usable = 0;
  for (const auto& n : seen.nodes) usable += n.usable ? 1 : 0;
  EXPECT_EQ(usable, f.nodes().size() - 1);
  EXPECT_EQ(seen.fabric.link_count(), f.link_count() - 1);
}
INSTANTIATE_TEST_SUITE_P(Fields, SweepField, testing::ValuesIn(kFields));

/// Spoils what is said of one port of one node.
Spoil spoil_port(ib::Guid node, std::uint8_t port, void (*change)(ib::wire::Mad&)) {
  auto route = std::make_shared<std::optional<ib::mad::DirectedRoute>>();
  return [=](const ib::mad::Request& r, ib::wire::Mad& answer) {
    const auto hops = r.mad.get<&ib::wire::SmpHeader::hop_count>();
    const auto path = r.mad.get<&ib::wire::SmpHeader::initial_path>();
    const ib::mad::DirectedRoute here{{path.begin() + 1, path.begin() + 1 + hops}};
    if (answer.attribute_id() == attr::kNodeInfo && !*route &&
        ib::wire::body<NodeInfo>(answer).node_guid == node)
      *route = here;
    if (answer.attribute_id() == attr::kPortInfo && *route && here.hops == (*route)->hops &&
        (r.mad.attribute_modifier() & 0xFF) == port)
      change(answer);
    return true;
  };
}

TEST(Sweep, OneStrangePortOfASwitchIsLeftAloneAndTheSwitchIsNot) {
  const Fabric f = small_tree();
  // The last host and the port of its leaf that leads to it.
  PortRef host;
  for (NodeIndex n = 0; n < f.nodes().size(); ++n)
    if (!f.node(n).is_switch()) host = {n, 1};
  const PortRef at = f.port(host).peer;
  const ib::Guid leaf = f.node(at.node).guid;
  const std::pair<const char*, void (*)(ib::wire::Mad&)> strange[] = {
      {"PortState is 5", [](ib::wire::Mad& m) { set_body_field<&PortInfo::port_state>(m, 5); }},
      {"VLCap is 9", [](ib::wire::Mad& m) { set_body_field<&PortInfo::vl_cap>(m, 9); }},
      {"MTUCap is 7", [](ib::wire::Mad& m) { set_body_field<&PortInfo::mtu_cap>(m, 7); }}};
  for (const auto& [text, change] : strange) {
    SCOPED_TRACE(text);
    const Observed seen = run(f, spoil_port(leaf, at.port, change));
    ASSERT_EQ(seen.troubles.size(), 1U);
    EXPECT_THAT(seen.troubles[0].message, testing::HasSubstr(text));
    const auto found = seen.fabric.find_node(leaf);
    ASSERT_TRUE(found);
    EXPECT_TRUE(seen.nodes[*found].usable);
    EXPECT_FALSE(seen.port({*found, at.port}).known);
    EXPECT_FALSE(seen.fabric.find_node(f.node(host.node).guid)) << "nothing is sent through it";
    EXPECT_EQ(seen.nodes.size(), f.nodes().size() - 1);
    EXPECT_EQ(seen.fabric.link_count(), f.link_count() - 1);
  }
}

TEST(Sweep, AnMKeyThatIsNewsIsAskedForTwiceAndOneThatDiffersThenIsNotBelieved) {
  const Fabric f = small_tree();
  for (const bool of_switch : {false, true}) {
    SCOPED_TRACE(of_switch ? "switch" : "host");
    NodeIndex node = 0;
    for (NodeIndex n = 0; n < f.nodes().size(); ++n)
      if (f.node(n).is_switch() == of_switch) node = n;
    const PortRef at{node, static_cast<std::uint8_t>(of_switch ? 0 : 1)};
    const ib::Guid guid = f.node(node).guid;
    std::uint64_t step = 0;
    std::size_t asked = 0;
    const auto shows_keys = [&](const ib::mad::Request& r, ib::wire::Mad& answer) {
      if (r.target_key != guid.value || answer.attribute_id() != attr::kPortInfo ||
          (answer.attribute_modifier() & 0xFF) != at.port)
        return true;
      set_body_field<&PortInfo::m_key>(answer, 0x1234 + step * asked++);
      return true;
    };
    const Observed steady = run(f, shows_keys);
    EXPECT_THAT(steady.troubles, testing::IsEmpty());
    EXPECT_EQ(asked, of_switch ? 2U : 3U) << "a host is asked for extended speeds, too";
    EXPECT_EQ(steady.port({*steady.fabric.find_node(guid), at.port}).get<&PortInfo::m_key>(),
              0x1234U);

    asked = 0;
    ib::discover::SweepOptions knows;
    knows.m_key = [&](ib::Guid port) { return port == f.port(at).guid ? 0x1234U : 0U; };
    EXPECT_THAT(run(f, shows_keys, std::move(knows)).troubles, testing::IsEmpty());
    EXPECT_EQ(asked, of_switch ? 1U : 2U);

    step = 1;
    const Observed seen = run(f, shows_keys);
    ASSERT_EQ(seen.troubles.size(), 1U);
    EXPECT_THAT(seen.troubles[0].message, testing::HasSubstr("M_Key"));
    EXPECT_EQ(seen.troubles[0].kind, Trouble::Kind::Garbage);
    const auto liar = *seen.fabric.find_node(guid);
    EXPECT_FALSE(seen.nodes[liar].usable);
    EXPECT_FALSE(seen.port({liar, at.port}).known) << "its key is nowhere to be written back from";
  }
}

TEST(Sweep, EndsWhateverIsAnswered) {
  const Fabric f = small_tree();
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const Observed seen = run(f, [&](const ib::mad::Request&, ib::wire::Mad& answer) {
      if (random() % 10 == 0) return false;
      if (random() % 10 < 3)
        for (unsigned i = 0; i < 8; ++i)
          answer.bytes[4 + random() % 124] = static_cast<std::byte>(random());
      return true;
    });
    EXPECT_TRUE(seen.complete);
  }
}

TEST(Sweep, DoesNotAskAPlainDeviceForTheVendorAttribute) {
  bool asked = false;
  Fabric f = small_tree();
  for (NodeIndex n = 0; n < f.nodes().size(); ++n) f.node(n).device_id = 0x1234;
  run(f, [&](const ib::mad::Request& r, ib::wire::Mad&) {
    asked |= r.mad.attribute_id() == ib::wire::attr::kMlnxExtendedPortInfo;
    return true;
  });
  EXPECT_FALSE(asked);
}

// ---- PortStateChange, which a model's switches have set in the beginning

struct Seen {
  std::size_t sets{};
  std::map<std::uint64_t, bool> ports_read;  // by target: any PortInfo was asked for
};
/// What was sent, and whether each Set came before all PortInfos of its switch.
Spoil note_order(Seen& seen) {
  return [&seen](const ib::mad::Request& r, ib::wire::Mad&) {
    if (r.mad.attribute_id() == attr::kPortInfo) seen.ports_read[r.target_key] = true;
    if (r.mad.method() == ib::wire::Method::Set) {
      ++seen.sets;
      EXPECT_EQ(r.mad.attribute_id(), attr::kSwitchInfo);
      EXPECT_FALSE(seen.ports_read[r.target_key]);
    }
    return true;
  };
}
ib::discover::SweepOptions clearing() {
  ib::discover::SweepOptions options;
  options.clears_changes_of = [](ib::Guid) { return true; };
  return options;
}

TEST(Sweep, SetsNothingUnlessItIsTold) {
  Seen seen;
  const Observed found = run(small_tree(), note_order(seen));
  EXPECT_EQ(seen.sets, 0U);
  for (const auto& node : found.nodes) {
    EXPECT_EQ(node.changed, node.switch_info.has_value());
    EXPECT_TRUE(!node.switch_info || node.switch_info->port_state_change);
  }
}

TEST(Sweep, ClearsWhatChangedBeforeItReadsThePorts) {
  Seen seen;
  const Observed found = run(small_tree(), note_order(seen), clearing());
  std::size_t switches = 0;
  for (const auto& node : found.nodes) {
    EXPECT_EQ(node.changed, node.switch_info.has_value());
    if (!node.switch_info) continue;
    ++switches;
    EXPECT_FALSE(node.switch_info->port_state_change);
  }
  EXPECT_EQ(seen.sets, switches);
}

TEST(Sweep, ASwitchThatDoesNotClearIsReadAllTheSame) {
  const Fabric f = small_tree();
  for (const bool silent : {false, true}) {
    const auto spoil = [silent](const ib::mad::Request& r, ib::wire::Mad& answer) {
      if (r.mad.method() != ib::wire::Method::Set) return true;
      answer.set<&ib::wire::SmpHeader::status>(ib::wire::status::kBadValue);
      return !silent;
    };
    const Observed found = run(f, spoil, clearing());
    EXPECT_THAT(found.troubles, testing::IsEmpty());
    EXPECT_EQ(found.fabric.link_count(), f.link_count());
    for (const auto& node : found.nodes)
      EXPECT_TRUE(!node.switch_info || node.switch_info->port_state_change);
  }
}

/// It fell silent half way, and says of later that nothing changed.
TEST(Sweep, ASwitchWhosePortsWereNotAllReadIsReadByASweepOfAPart) {
  const Fabric f = small_tree();
  ib::Guid silent{};
  for (const auto& node : f.nodes())
    if (node.is_switch()) silent = node.guid;
  const Observed first = run(f, [&](const ib::mad::Request& r, ib::wire::Mad&) {
    return r.mad.attribute_id() != attr::kPortInfo || r.target_key != silent.value ||
           (r.mad.attribute_modifier() & 0xFF) != 3;
  });
  ASSERT_LT(first.fabric.link_count(), f.link_count());
  ASSERT_FALSE(first.nodes[*first.fabric.find_node(silent)].usable);

  ib::discover::SweepOptions options;
  options.partial.emplace();
  options.partial->known = std::make_shared<Observed>(first);
  options.partial->troubles = first.troubles;
  options.partial->places = {{silent, false}};
  const auto nothing_changed = [](const ib::mad::Request&, ib::wire::Mad& answer) {
    if (answer.attribute_id() != attr::kSwitchInfo) return true;
    auto info = ib::wire::body<ib::wire::SwitchInfo>(answer);
    info.port_state_change = false;
    ib::wire::set_body(answer, info);
    return true;
  };
  const Observed second = run(f, nothing_changed, std::move(options));
  EXPECT_TRUE(second.complete);
  EXPECT_THAT(second.troubles, testing::IsEmpty());
  EXPECT_EQ(second.fabric.link_count(), f.link_count());
}

}  // namespace
