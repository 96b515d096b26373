// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/qos_policy.h"

#include <fmt/format.h>

#include "libdiag/base/text.h"
#include "sm/policy/words.h"

namespace sm::policy {
namespace {

const Partition* find_partition(const Partitions& partitions, std::string_view name) {
  const auto at =
      std::ranges::find_if(partitions.all, [&](const Partition& p) { return p.name == name; });
  return at == partitions.all.end() ? nullptr : &*at;
}

QosGrant grant_of(const QosLevelLines& level) {
  QosGrant grant;
  if (level.sl) grant.sl = ib::Sl{*level.sl};
  grant.mtu_limit = level.mtu_limit;
  grant.rate_limit = level.rate_limit;
  grant.packet_life = level.packet_life;
  grant.p_keys = level.p_keys;
  grant.path_bits = level.path_bits;
  return grant;
}

/// The rules of the criterion: those with the ranges, and those that do not ask for it.
template <class T>
void add_criterion(RangeIndex<T>& index, std::size_t rule, const Intervals<T>& ranges) {
  if (ranges.empty()) index.add_always(rule);
  for (const auto& range : ranges) index.add(rule, range);
}

/// The lowest rule that is in all sets, or `none`.
std::size_t first_of_all(std::initializer_list<const RuleSet*> sets, std::size_t none) {
  const std::size_t words = (*sets.begin())->size();
  for (std::size_t w = 0; w < words; ++w) {
    std::uint64_t all = ~std::uint64_t{0};
    for (const RuleSet* set : sets) all &= (*set)[w];
    if (all != 0) return w * 64 + static_cast<std::size_t>(std::countr_zero(all));
  }
  return none;
}

template <class Warn>
void warn_of_missing_partitions(const QosFile& file, const Partitions& partitions, Warn warn) {
  for (const PortGroup& group : file.groups)
    for (const std::string& name : group.partitions)
      if (find_partition(partitions, name) == nullptr)
        warn(group.place, fmt::format("port group '{}' names the partition '{}', which does not "
                                      "exist: it adds no port",
                                      ib::printable(group.name), ib::printable(name)));
}

/// What requests get that no rule matches.
std::optional<QosGrant> default_of(const QosFile& file, const std::string& file_name,
                                   bool without_rules) {
  QosGrant grant;
  if (const QosLevelLines* level = file.find_level(kDefaultLevel)) {
    grant = grant_of(*level);
    grant.rule = fmt::format("{}:{} (level 'DEFAULT')", file_name, level->place.line);
  } else if (file.default_sl && (*file.default_sl != 0 || !without_rules)) {
    grant.sl = ib::Sl{*file.default_sl};
    grant.rule = file_name + " (default)";
  } else {
    return std::nullopt;
  }
  grant.is_default = true;
  return grant;
}

}  // namespace

QosPolicy::Side::Side(std::size_t count)
    : guids(count), p_keys(count), cas((count + 63) / 64), switches(cas), routers(cas), self(cas) {}

QosPolicy::QosPolicy(const QosFile& file, const std::string& file_name,
                     const Partitions& partitions, std::vector<ib::Diagnostic>& diagnostics)
    : qos_classes_(file.rules.size() + file.ulps.size()),
      p_keys_(file.rules.size() + file.ulps.size()),
      service_ids_(file.rules.size() + file.ulps.size()),
      sources_(file.rules.size() + file.ulps.size()),
      destinations_(file.rules.size() + file.ulps.size()) {
  const auto warn = [&](ib::TextPlace place, std::string message) {
    diagnostics.push_back({ib::Severity::Warning, file_name, place, std::move(message)});
  };
  warn_of_missing_partitions(file, partitions, warn);
  const auto add_groups = [&](Side& side, std::size_t rule, const std::vector<std::string>& names) {
    if (names.empty()) side.guids.add_always(rule);
    for (const std::string& name : names) {
      const PortGroup& group = *file.find_group(name);
      for (const auto& range : group.guids) side.guids.add(rule, range);
      for (const NamedPort& port : group.ports) side.names[port.node].push_back({port.port, rule});
      for (const auto& range : group.p_keys) side.p_keys.add(rule, range);
      for (const std::string& partition : group.partitions)
        if (const Partition* found = find_partition(partitions, partition))
          side.p_keys.add(rule, {found->p_key, found->p_key});
      if (group.cas) insert_rule(side.cas, rule);
      if (group.switches) insert_rule(side.switches, rule);
      if (group.routers) insert_rule(side.routers, rule);
      if (group.self) insert_rule(side.self, rule);
    }
  };
  for (const QosMatchRule& rule : file.rules) {
    const std::size_t number = grants_.size();
    const QosLevelLines& level = *file.find_level(rule.level);
    grants_.push_back(grant_of(level));
    grants_.back().rule = fmt::format("{}:{} (level '{}')", file_name, rule.place.line, level.name);
    add_criterion(qos_classes_, number, rule.qos_classes);
    add_criterion(p_keys_, number, rule.p_keys);
    add_criterion(service_ids_, number, rule.service_ids);
    add_groups(sources_, number, rule.sources);
    add_groups(destinations_, number, rule.destinations);
  }
  const auto add_guids = [](Side& side, std::size_t rule,
                            const std::optional<Intervals<std::uint64_t>>& guids) {
    if (!guids) side.guids.add_always(rule);
    if (guids)
      for (const auto& range : *guids) side.guids.add(rule, range);
  };
  for (const UlpRule& ulp : file.ulps) {
    const std::size_t number = grants_.size();
    grants_.push_back({});
    grants_.back().sl = ib::Sl{ulp.sl};
    grants_.back().rule =
        fmt::format("{}:{} ({})", file_name, ulp.place.line, ib::printable(ulp.text));
    qos_classes_.add_always(number);
    add_criterion(p_keys_, number, ulp.p_keys);
    add_criterion(service_ids_, number, ulp.service_ids);
    add_guids(sources_, number, ulp.sources);
    add_guids(destinations_, number, ulp.targets);
    if (!ulp.ipoib) continue;
    for (const auto& range : ulp.p_keys)
      if (std::ranges::none_of(partitions.all,
                               [&](const Partition& p) { return range.has(p.p_key); }))
        warn(ulp.place, fmt::format("no partition has P_Key 0x{:04x}: this rule matches nothing",
                                    range.first));
  }
  qos_classes_.build();
  p_keys_.build();
  service_ids_.build();
  for (Side* side : {&sources_, &destinations_}) side->guids.build(), side->p_keys.build();

  default_ = default_of(file, file_name, grants_.empty());
}

RuleSet QosPolicy::rules_at(const Side& side, const EndPortFacts& port,
                            std::span<const std::uint16_t> p_keys) {
  RuleSet set = side.guids.of(port.guid.value);
  for (const std::uint16_t key : p_keys) add_all(set, side.p_keys.of(key));
  switch (port.kind) {
    case EndPortKind::Ca:
    case EndPortKind::Virtual:
      add_all(set, side.cas);
      break;
    case EndPortKind::Switch:
      add_all(set, side.switches);
      break;
    case EndPortKind::Router:
      add_all(set, side.routers);
      break;
  }
  if (port.is_sm) add_all(set, side.self);
  const auto add_named = [&](std::string_view name) {
    if (const auto named = side.names.find(std::string(name)); named != side.names.end())
      for (const auto& [number, rule] : named->second)
        if (number == port.port) insert_rule(set, rule);
  };
  add_named(port.node_description);
  if (!port.map_name.empty()) add_named(port.map_name);
  return set;
}

QosPolicy::PortRules QosPolicy::rules_of(const EndPortFacts& port,
                                         std::span<const std::uint16_t> p_keys) const {
  return {rules_at(sources_, port, p_keys), rules_at(destinations_, port, p_keys)};
}

const QosGrant* QosPolicy::match(const QosRequest& request, const PortRules& from,
                                 const PortRules& to) const {
  const std::size_t rule =
      first_of_all({&from.as_source, &to.as_destination, &service_ids_.of(request.service_id),
                    &p_keys_.of(request.p_key), &qos_classes_.of(request.qos_class)},
                   grants_.size());
  if (rule != grants_.size()) return &grants_[rule];
  return default_ ? &*default_ : nullptr;
}

std::vector<const QosGrant*> QosPolicy::grants() const {
  std::vector<const QosGrant*> all;
  all.reserve(grants_.size() + 1);
  for (const QosGrant& grant : grants_) all.push_back(&grant);
  if (default_) all.push_back(&*default_);
  return all;
}

std::uint16_t QosPolicy::sls() const {
  unsigned sls = default_ && default_->sl ? 1U << default_->sl->value : 1U;
  for (const QosGrant& grant : grants_)
    if (grant.sl) sls |= 1U << grant.sl->value;
  return static_cast<std::uint16_t>(sls);
}

const QosGrant* QosPolicy::for_groups(std::uint16_t p_key) const {
  const std::size_t rule = first_of_all(
      {&sources_.guids.of(std::nullopt), &destinations_.guids.of(std::nullopt),
       &service_ids_.of(std::nullopt), &p_keys_.of(p_key), &qos_classes_.of(std::nullopt)},
      grants_.size());
  return rule == grants_.size() ? nullptr : &grants_[rule];
}

}  // namespace sm::policy
