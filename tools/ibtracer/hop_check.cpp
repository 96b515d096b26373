// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibtracer/hop_check.h"

#include <fmt/format.h>

#include <utility>

#include "libdiag/wire/tracer_attributes.h"

namespace ibtracer {

using ib::Lid;
using ib::query::PathWalk;
using ib::query::Walk;
using ib::query::WalkOptions;
namespace wire = ib::wire;
namespace mad = ib::mad;

ib::Result<Walk> walk_to(const Guide& guide, Lid dlid, const WalkOptions& options) {
  if (guide.sa != nullptr) return guide.sa->walk(dlid);
  PathWalk walk(dlid, options);
  mad::Session& session = guide.session;
  if (auto ran = session.run(walk); !ran) return tl::unexpected(ran.error());
  return walk.walk();
}

namespace {

/// The vector of a request to the last hop of `walk`: ingress ports from hop 1 on.
wire::SourceRoute vector_of(const Walk& walk) {
  wire::SourceRoute route;
  route.hop = static_cast<std::uint8_t>(walk.hops.size() - 1);
  for (std::size_t i = 1; i < walk.hops.size(); ++i)
    route.expected_port[i] = walk.hops[i].ingress_port;
  return route;
}

/// One hop's questions: its own LID's route from the tables, its agent, and a LID-routed NodeInfo.
class HopCheck {
 public:
  HopCheck(const Guide& guide, const TraceOptions& options, const HopAddress& address,
           TracedHop& hop)
      : guide_(guide),
        session_(guide.session),
        options_(options),
        hop_(hop),
        lid_(address.lid),
        is_last_(address.is_last) {}

  ib::Result<void> run(const Walk& dlid_walk) {
    if (is_last_) {
      own_ = dlid_walk;
    } else if (auto read = read_own_route(); !read) {
      return read;
    }
    take_expectation();
    if (hop_.expected == 0) return {};
    if (auto asked = ask(); !asked) return asked;
    if (!disagrees()) return {};
    // Tables may have changed between the walk and the question: read them once more and ask again.
    if (guide_.sa != nullptr) guide_.sa->forget();
    if (auto read = read_own_route(); !read) return read;
    const std::uint8_t before = hop_.expected;
    take_expectation();
    if (hop_.expected == 0) return {};
    if (auto asked = ask(); !asked) return asked;
    hop_.mismatch = disagrees() ? Mismatch::Unexplained : Mismatch::Explained;
    hop_.note =
        hop_.mismatch == Mismatch::Explained
            ? fmt::format(
                  "came in by port {}, not {}: the tables had changed meanwhile and agree now",
                  hop_.expected, before)
            : fmt::format("came in by port {} although the tables for lid {} say {}", actual(),
                          lid_.value, hop_.expected);
    return {};
  }

 private:
  ib::Result<void> read_own_route() {
    WalkOptions walk_options;
    walk_options.m_key = options_.m_key;
    walk_options.names = options_.names;
    walk_options.descriptions = false;
    auto read = walk_to(guide_, lid_, walk_options);
    if (!read) return tl::unexpected(read.error());
    own_ = std::move(*read);
    return {};
  }

  void take_expectation() {
    hop_.expected = 0;
    if (own_.arrived() && own_.hops.size() < 2) {
      hop_.note = "the packet is back where it came from, to which no route leads from there";
      return;
    }
    if (!own_.arrived()) {
      hop_.note =
          fmt::format("the route to this hop's own lid {} is broken: {}", lid_.value, own_.failure);
      return;
    }
    hop_.expected = own_.hops.back().ingress_port;
    hop_.own_lid_hops = static_cast<std::uint8_t>(own_.hops.size() - 1);
  }

  ib::Result<void> ask() {
    const ib::Guid guid = hop_.hop.node_guid;
    std::vector<mad::Request> questions;
    questions.push_back(class_port_info_request(0, guid, lid_, options_.sl));
    questions.push_back(mad::smp_request(1, guid.value, lid_, wire::Method::Get,
                                         wire::attr::kNodeInfo, 0, options_.m_key));
    // Whether a GRH can be answered is in the answer to ClassPortInfo.
    if (!options_.grh) questions.push_back(source_route_question(std::nullopt));
    auto answers = session_.call_all(std::move(questions));
    if (!answers) return tl::unexpected(answers.error());
    hop_.agent_actual.reset();
    hop_.grh = GrhWord::NotUsed;
    read_smp((*answers)[1]);
    if (const auto capabilities = read_class_port_info((*answers)[0])) {
      if (options_.grh) {
        if (auto asked = ask_with_grh(*capabilities); !asked) return asked;
      } else {
        read_source_route((*answers)[2]);
      }
    }
    hop_.proof = Proof::None;
    if (hop_.agent_actual == hop_.expected) {
      hop_.proof = Proof::Agent;
    } else if (hop_.smp_actual == hop_.expected) {
      hop_.proof = Proof::Smp;
    }
    return {};
  }

  mad::Request source_route_question(const std::optional<mad::Grh>& grh) const {
    return source_route_request(2, hop_.hop.node_guid, lid_, options_.sl, vector_of(own_), grh);
  }

  /// The GID that was typed leads to the last hop, unless a router takes it to another subnet.
  /// Every other hop has its own, which no router is to pass on (IBA 8.3, HopLmt).
  std::optional<mad::Grh> grh() const {
    if (is_last_ && options_.grh->gid.prefix() == guide_.gid_prefix) return options_.grh;
    if (hop_.hop.port_guid.value == 0) return std::nullopt;
    mad::Grh own;
    own.gid = ib::Gid::from(guide_.gid_prefix, hop_.hop.port_guid);
    own.hop_limit = 1;
    return own;
  }

  /// An answer without a GRH to a request with one does not get through the kernel, so an agent
  /// that does not say that it can is not asked with one.
  ib::Result<void> ask_with_grh(std::uint16_t capabilities) {
    const auto with = grh();
    if (with && (capabilities & wire::kTracerMirrorsGrh) != 0) {
      auto answer = ask_one(source_route_question(with));
      if (!answer) return tl::unexpected(answer.error());
      if (answer->reply) {
        hop_.grh = GrhWord::Answered;
        read_source_route(*answer);
        return {};
      }
      hop_.grh = GrhWord::Silent;
    } else if (with) {
      hop_.grh = GrhWord::Unknown;
    }
    auto answer = ask_one(source_route_question(std::nullopt));
    if (!answer) return tl::unexpected(answer.error());
    read_source_route(*answer);
    return {};
  }

  ib::Result<mad::Completion> ask_one(mad::Request question) {
    std::vector<mad::Request> one;
    one.push_back(std::move(question));
    auto answers = session_.call_all(std::move(one));
    if (!answers) return tl::unexpected(answers.error());
    return std::move(answers->front());
  }

  /// The CapabilityMask of an agent that can tell its ingress; nothing: there is no more to ask.
  std::optional<std::uint16_t> read_class_port_info(const mad::Completion& info) {
    if (!info.reply) {
      hop_.agent = AgentWord::Silent;
      return std::nullopt;
    }
    const std::uint16_t status = info.reply->mad.status();
    if (status == wire::status::kBadAttribute) {
      hop_.agent = AgentWord::NoAgent;
    } else if (status == wire::status::kBadVersion || status == wire::status::kBadMethod) {
      hop_.agent = AgentWord::OtherVersion;
    } else if (status != wire::status::kOk) {
      hop_.agent = AgentWord::Odd;
      hop_.note = fmt::format("its agent answered ClassPortInfo with status 0x{:04x}", status);
    } else {
      const std::uint16_t mask = wire::body<wire::ClassPortInfo>(info.reply->mad).capability_mask;
      if ((mask & wire::kTracerKnowsIngress) != 0) return mask;
      hop_.agent = AgentWord::KnowsNoIngress;
    }
    return std::nullopt;
  }

  void read_source_route(const mad::Completion& route) {
    if (!route.reply) {
      hop_.agent = AgentWord::Silent;
      return;
    }
    const std::uint16_t status = route.reply->mad.status();
    const auto body = wire::body<wire::SourceRoute>(route.reply->mad);
    const bool port_agrees = body.actual_port.value == hop_.expected;
    // Status 7 with the expected port means that the agent found the request malformed, not that
    // the port is wrong.
    if ((status != wire::status::kOk && status != wire::status::kBadValue) ||
        (status == wire::status::kBadValue) == port_agrees) {
      hop_.agent = AgentWord::Odd;
      hop_.note = fmt::format("its agent answered status 0x{:04x} with port {}", status,
                              body.actual_port.value);
      return;
    }
    hop_.agent = AgentWord::Answered;
    if (body.actual_port.value != 0) hop_.agent_actual = body.actual_port.value;
  }

  void read_smp(const mad::Completion& answer) {
    hop_.smp_actual.reset();
    if (!answer.reply || answer.reply->mad.status() != 0) return;
    const auto node = wire::body<wire::NodeInfo>(answer.reply->mad);
    // Port 0 of a switch says nothing of the ingress; and an answer of another node proves nothing
    // of this one.
    if (node.local_port_num.value != 0 && node.node_guid == hop_.hop.node_guid)
      hop_.smp_actual = node.local_port_num.value;
  }

  bool disagrees() const {
    return (hop_.agent_actual && *hop_.agent_actual != hop_.expected) ||
           (hop_.smp_actual && *hop_.smp_actual != hop_.expected);
  }
  unsigned actual() const {
    return hop_.agent_actual && *hop_.agent_actual != hop_.expected ? *hop_.agent_actual
                                                                    : hop_.smp_actual.value_or(0);
  }

  const Guide& guide_;
  mad::Session& session_;
  const TraceOptions& options_;
  TracedHop& hop_;
  Lid lid_;
  bool is_last_;
  Walk own_;
};

}  // namespace

ib::Result<void> check_hop(const Guide& guide, const TraceOptions& options,
                           const HopAddress& address, const Walk& dlid_walk, TracedHop& hop) {
  return HopCheck(guide, options, address, hop).run(dlid_walk);
}

}  // namespace ibtracer
