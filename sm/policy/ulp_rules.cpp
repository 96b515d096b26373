// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/ulp_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "libdiag/base/text.h"
#include "sm/policy/words.h"

namespace sm::policy {
namespace {

constexpr std::uint64_t kPortMax = 0xFFFF, kAll64 = ~std::uint64_t{0};
constexpr std::uint16_t kDefaultBase = 0x7FFF;

enum class Criterion { PortNum, PKey, ServiceId, TargetGuid, SourceGuid, BothGuids };
struct CriterionWord {
  std::string_view word;
  Criterion criterion;
};
constexpr CriterionWord kCriteria[] = {
    {"port-num", Criterion::PortNum},
    {"pkey", Criterion::PKey},
    {"service-id", Criterion::ServiceId},
    {"target-port-guid", Criterion::TargetGuid},
    {"source-port-guid", Criterion::SourceGuid},
    {"source-target-port-guid", Criterion::BothGuids},
};

/// An application: where the service IDs of its TCP or UDP ports begin (IBA A11, RDMA IP CM
/// service), which ports it has where none is said, and the criteria that may follow its name.
struct Ulp {
  std::string_view name;
  std::uint64_t base;
  Interval<std::uint64_t> ports;
  std::span<const Criterion> may_have;
  bool must_have;  // one of them
};
constexpr Criterion kPorts[] = {Criterion::PortNum};
constexpr Criterion kKeys[] = {Criterion::PKey};
constexpr Criterion kTargets[] = {Criterion::TargetGuid};
constexpr Criterion kForAny[] = {Criterion::ServiceId, Criterion::PKey, Criterion::TargetGuid,
                                 Criterion::SourceGuid, Criterion::BothGuids};
constexpr std::uint64_t kSdpBase = 0x10000, kRdmaTcpBase = 0x1060000;
constexpr std::uint64_t kRdsPort = 0x48CA, kIserPort = 0x0CBC;
constexpr Ulp kUlps[] = {
    {"sdp", kSdpBase, {0, kPortMax}, kPorts, false},
    {"rds", kRdmaTcpBase, {kRdsPort, kRdsPort}, kPorts, false},
    {"iser", kRdmaTcpBase, {kIserPort, kIserPort}, kPorts, false},
    {"ipoib", 0, {}, kKeys, false},
    {"srp", 0, {}, kTargets, true},
    {"any", 0, {}, kForAny, true},
};
constexpr std::array<std::string_view, 7> kNames = {"default", "sdp", "rds", "iser",
                                                    "ipoib",   "srp", "any"};

std::string_view word_of(Criterion criterion) {
  return std::ranges::find(kCriteria, criterion, &CriterionWord::criterion)->word;
}

std::vector<std::string_view> words_of(std::span<const Criterion> criteria) {
  std::vector<std::string_view> out;
  for (const Criterion c : criteria) out.push_back(word_of(c));
  return out;
}

void add_service_ports(const Ulp& ulp, const Intervals<std::uint64_t>& ports, UlpRule& rule) {
  for (const auto& [first, last] : ports)
    rule.service_ids.push_back({ulp.base + first, ulp.base + last});
}

void read_values(Problems& problems, const Ulp& ulp, Criterion criterion, const Piece& values,
                 UlpRule& rule) {
  constexpr std::string_view kGuid = "a port GUID";
  switch (criterion) {
    case Criterion::PortNum: {
      Intervals<std::uint64_t> ports;
      problems.ranges(values, "a port number", kPortMax, ports);
      return add_service_ports(ulp, ports, rule);
    }
    case Criterion::PKey:
      return problems.ranges(values, "a P_Key", kPortMax, rule.p_keys, kDefaultBase);
    case Criterion::ServiceId:
      return problems.ranges(values, "a service ID", kAll64, rule.service_ids);
    case Criterion::TargetGuid:
      return problems.ranges(values, kGuid, kAll64, rule.targets.emplace());
    case Criterion::SourceGuid:
      return problems.ranges(values, kGuid, kAll64, rule.sources.emplace());
    case Criterion::BothGuids:
      problems.ranges(values, kGuid, kAll64, rule.targets.emplace());
      rule.sources = rule.targets;
      rule.both_ends = true;
      return;
  }
}

/// `, WORD VALUES` behind the name of an application.
bool read_criterion(Problems& problems, const Ulp& ulp, const Piece& rest, UlpRule& rule) {
  const auto length = std::min(rest.text.find_first_of(" \t"), rest.text.size());
  const Piece word = rest.part(0, length);
  const auto* known = std::ranges::find_if(
      kCriteria, [&](const CriterionWord& c) { return equal_words(c.word, word.text); });
  const bool fits = known != std::end(kCriteria) &&
                    std::ranges::find(ulp.may_have, known->criterion) != ulp.may_have.end();
  if (!fits) {
    const auto words = words_of(ulp.may_have);
    problems.error(word.place,
                   fmt::format("expected {} after '{},', got '{}'{}", fmt::join(words, " or "),
                               ulp.name, ib::printable(word.text), did_you_mean(word.text, words)));
    return false;
  }
  const Piece values = rest.part(length).trimmed();
  if (values.text.empty()) {
    problems.error(word.place, fmt::format("'{}' needs a value", known->word));
    return false;
  }
  read_values(problems, ulp, known->criterion, values, rule);
  return true;
}

}  // namespace

std::optional<UlpLine> read_ulp_rule(Problems& problems, const Piece& line) {
  const auto [left, sl] = line.cut_last(':');
  if (!sl) {
    problems.error(line.place, "expected ': SL' at the end of this rule");
    return std::nullopt;
  }
  const auto number = problems.number(*sl, "an SL", 0, 15);
  if (!number) return std::nullopt;
  UlpLine out;
  out.rule.sl = static_cast<std::uint8_t>(*number);
  out.rule.place = line.place;
  out.rule.text = line.text;
  const auto [name, rest] = left.cut(',');
  if (equal_words(name.text, kNames[0])) {
    if (rest) {
      problems.error(rest->place, "'default' has no conditions");
      return std::nullopt;
    }
    out.is_default = true;
    return out;
  }
  const auto* ulp = std::ranges::find_if(
      kUlps, [&, n = name](const Ulp& u) { return equal_words(u.name, n.text); });
  if (ulp == std::end(kUlps)) {
    problems.error(name.place,
                   fmt::format("unknown application '{}'; there are {}{}",
                               ib::printable(name.text.substr(0, 40)), fmt::join(kNames, ", "),
                               did_you_mean(name.text, kNames)));
    return std::nullopt;
  }
  if (!rest && ulp->must_have) {
    problems.error(name.place, fmt::format("'{}' needs {}", ulp->name,
                                           fmt::join(words_of(ulp->may_have), " or ")));
    return std::nullopt;
  }
  if (rest && !read_criterion(problems, *ulp, *rest, out.rule)) return std::nullopt;
  if (!rest && ulp->base != 0) add_service_ports(*ulp, {ulp->ports}, out.rule);
  if (equal_words(ulp->name, "ipoib")) {
    out.rule.ipoib = true;
    if (!rest) out.rule.p_keys = {{kDefaultBase, kDefaultBase}};
  }
  normalize(out.rule.service_ids);
  return out;
}

void warn_of_hidden_rules(std::span<const UlpRule> rules, Problems& problems) {
  const auto by_port_alone = [](const UlpRule& r) { return r.sources || r.targets; };
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (!by_port_alone(rules[i])) continue;
    const auto rest = rules.subspan(i + 1);
    const auto hidden =
        std::ranges::find_if(rest, [&](const UlpRule& r) { return !by_port_alone(r); });
    if (hidden == rest.end()) continue;
    problems.warning(rules[i].place,
                     fmt::format("this rule matches every application's requests for its ports and "
                                 "so hides later rules from them ('{}' in line {}); put it last",
                                 ib::printable(hidden->text), hidden->place.line));
  }
}

}  // namespace sm::policy
