// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/queries.h"

#include <algorithm>

#include "sm/sa/paths/multi_path.h"
#include "sm/sa/paths/path_records.h"
#include "sm/sa/paths/trace_records.h"
#include "sm/sa/records/families.h"

namespace sm::sa {
namespace {

namespace attr = ib::wire::attr;

struct Family {
  std::uint16_t attribute;
  Opened (*open)(const World&, const Query&);
};

constexpr Family kFamilies[] = {
    {attr::kPathRecord, open_path_query},  // what is asked for most
    {attr::kNodeRecord, open_nodes},
    {attr::kPortInfoRecord, open_ports},
    {attr::kSlToVlRecord, open_sl_to_vl},
    {attr::kSwitchInfoRecord, open_switches},
    {attr::kLinearFdtRecord, open_linear_tables},
    {attr::kMulticastFdtRecord, open_multicast_tables},
    {attr::kSmInfoRecord, open_subnet_managers},
    {attr::kLinkRecord, open_links},
    {attr::kGuidInfoRecord, open_guids},
    {attr::kServiceRecord, open_services},
    {attr::kPKeyTableRecord, open_p_keys},
    {attr::kVlArbitrationRecord, open_vl_arbitration},
    {attr::kMcMemberRecord, open_groups},
    {attr::kTraceRecord, open_trace_query},
    {attr::kMultiPathRecord, open_multi_path_query},
    {attr::kInformInfoRecord, open_subscriptions},
};

const Family* find(std::uint16_t attribute) {
  const auto* at = std::ranges::find(kFamilies, attribute, &Family::attribute);
  return at == std::end(kFamilies) ? nullptr : at;
}

}  // namespace

bool is_known_record(std::uint16_t attribute) { return find(attribute) != nullptr; }

Opened open_query(const World& world, const Query& query) {
  const Family* family = find(query.attribute);
  if (family == nullptr) return ib::wire::status::kBadAttribute;
  return family->open(world, query);
}

}  // namespace sm::sa
