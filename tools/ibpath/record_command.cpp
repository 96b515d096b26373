// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibpath/record_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "libdiag/base/text.h"
#include "libdiag/cli/exit_status.h"
#include "tools/ibpath/filter.h"
#include "tools/ibpath/report.h"

namespace ibpath {
namespace {

using ib::Result;
using ib::wire::Show;

/// A port that was named in place of a LID; looked up when there is an SA.
struct Named {
  Spot spot;
  ib::tools::Target target;
};

struct Plan {
  const RecordKind* kind;
  Query query;
  std::vector<Named> named;
};

ib::Error usage(std::string text) { return {ib::ErrorKind::Usage, std::move(text), 0}; }

bool is_lid(std::string_view field) { return field.ends_with("LID"); }

/// Begins as a field's name and goes on with a comparison.
bool is_condition(std::string_view word) {
  const auto at = word.find_first_of("=<>");
  return at != std::string_view::npos && at != 0 &&
         std::ranges::all_of(word.substr(0, at), [](unsigned char c) {
           return std::isalnum(c) != 0 ||
                  std::string_view("._-[]").find(static_cast<char>(c)) != std::string_view::npos;
         });
}

/// "4/1/": values of the fields "LID/PortNum/BlockNum"; an empty one is not asked for.
Result<void> read_operand(Plan& plan, std::string_view form, const std::string& word) {
  const auto fields = ib::split(form, '/');
  // A GID may stand alone where one is wanted; it has no '/' either.
  const auto values = ib::split(word, '/');
  if (values.size() > fields.size())
    return tl::unexpected(usage(
        fmt::format("{}: expected {}, got '{}'", plan.kind->name, form, ib::printable(word))));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty()) continue;
    const auto spot = find_field(*plan.kind->structure, fields[i]);
    if (!spot) return tl::unexpected(spot.error());
    if (!is_lid(fields[i])) {
      if (auto ok = plan.query.set(*spot, values[i]); !ok) return ok;
      continue;
    }
    auto target = ib::tools::parse_target(values[i]);
    if (!target) return tl::unexpected(target.error());
    if (const auto* lid = std::get_if<ib::Lid>(&*target)) {
      if (auto ok = plan.query.set(*spot, to_string(*lid)); !ok) return ok;
    } else {
      plan.named.push_back({*spot, std::move(*target)});
    }
  }
  return {};
}

/// One query for each combination of the ports that the names stand for.
Result<std::vector<Query>> queries(CommandContext& context, const Plan& plan) {
  std::vector<Query> all{plan.query};
  for (const Named& named : plan.named) {
    const auto lids = context.lids(named.target);
    if (!lids) return tl::unexpected(lids.error());
    std::vector<Query> more;
    for (const Query& query : all) {
      for (const ib::Lid lid : *lids) {
        more.push_back(query);
        if (auto ok = more.back().set(named.spot, to_string(lid)); !ok)
          return tl::unexpected(ok.error());
      }
    }
    all = std::move(more);
  }
  return all;
}

using Found = std::vector<std::vector<std::byte>>;

Result<void> ask(CommandContext& context, const RecordKind& kind, const Query& query,
                 Found& found) {
  if (kind.attribute == ib::wire::attr::kClassPortInfo) {
    const auto info = context.sa().class_port_info();
    if (!info) return tl::unexpected(info.error());
    found.push_back(ib::wire::bytes_of(*info));
    return {};
  }
  const auto records = context.sa().get_records(kind.attribute, query.body(), query.mask());
  if (!records) {
    if (context.is_none(records.error())) return {};
    return tl::unexpected(records.error());
  }
  for (std::size_t i = 0; i < records->size(); ++i) {
    const auto record = (*records)[i];
    if (kind.by_equality ? query.satisfied_by(record) : query.satisfies_own_conditions(record))
      found.emplace_back(record.begin(), record.end());
  }
  return {};
}

Result<int> run(CommandContext& context, const Plan& plan) {
  const RecordKind& kind = *plan.kind;
  TextOptions options;
  options.keys = context.options().keys;
  if (kind.attribute == ib::wire::attr::kSwitchInfoRecord) {
    constexpr std::uint32_t kKnowsMulticastFdbTop = 1U << 3;  // ClassPortInfo:CapabilityMask2
    const auto info = context.sa().class_port_info();
    if (!info) return tl::unexpected(info.error());
    options.multicast_fdb_top = (info->capability_mask2 & kKnowsMulticastFdbTop) != 0;
  }
  const auto all = queries(context, plan);
  if (!all) return tl::unexpected(all.error());
  Found found;
  for (const Query& query : *all)
    if (auto ok = ask(context, kind, query, found); !ok) return tl::unexpected(ok.error());
  if (context.options().common.json) {
    const std::vector<std::span<const std::byte>> views(found.begin(), found.end());
    print(json_records(kind.name, *kind.structure, views, options.keys, IBKIT_VERSION));
  } else {
    for (const auto& record : found) print(kind.text(record, options));
  }
  if (!found.empty()) return ib::cli::kExitGood;
  return context.found_nothing(fmt::format("the SA has no such {}", kind.name));
}

}  // namespace

Result<Job> plan_record(const RecordKind& kind, Words words) {
  Plan plan{&kind, Query(*kind.structure), {}};
  std::size_t operand = 0;
  for (const auto& word : words) {
    if (operand < kind.operands.size() && !is_condition(word)) {
      if (auto ok = read_operand(plan, kind.operands[operand++], word); !ok)
        return tl::unexpected(ok.error());
      continue;
    }
    if (auto ok = plan.query.add(word); !ok) return tl::unexpected(ok.error());
  }
  return Job([plan = std::move(plan)](CommandContext& context) { return run(context, plan); });
}

}  // namespace ibpath
