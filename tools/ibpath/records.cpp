// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibpath/records.h"

#include <strings.h>

#include <algorithm>

#include "libdiag/query/sa_client.h"
#include "tools/ibpath/record_text.h"

namespace ibpath {
namespace {

namespace wire = ib::wire;

template <class T>
RecordKind kind(std::string_view name, std::string_view alias, std::string_view plain,
                std::vector<std::string_view> operands, bool by_equality) {
  return {name,
          alias,
          plain,
          ib::query::kSaAttribute<T>,
          &wire::describe<T>(),
          std::move(operands),
          by_equality,
          [](std::span<const std::byte> record, const TextOptions& options) {
            return record_text(wire::decode<T>(record.data()), options);
          }};
}

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

std::span<const RecordKind> record_kinds() {
  static const std::vector<RecordKind> all{
      kind<wire::ClassPortInfo>("ClassPortInfo", "CPI", "sa", {}, false),
      kind<wire::NodeRecord>("NodeRecord", "NR", "nodes", {"LID"}, true),
      kind<wire::PortInfoRecord>("PortInfoRecord", "PIR", "ports", {"EndportLID/PortNum/Options"},
                                 true),
      kind<wire::SlToVlRecord>("SL2VLTableRecord", "SL2VL", "sl2vl",
                               {"LID/InputPortNum/OutputPortNum"}, true),
      kind<wire::PKeyTableRecord>("PKeyTableRecord", "PKTR", "pkeys", {"LID/PortNum/BlockNum"},
                                  true),
      kind<wire::VlArbitrationRecord>("VLArbitrationTableRecord", "VLAR", "vlarb",
                                      {"LID/OutputPortNum/BlockNum"}, true),
      kind<wire::InformInfoRecord>("InformInfoRecord", "IIR", "subscriptions", {"SubscriberGID"},
                                   false),
      kind<wire::LinkRecord>("LinkRecord", "LR", "links", {"FromLID/FromPort", "ToLID/ToPort"},
                             true),
      kind<wire::ServiceRecord>("ServiceRecord", "SR", "services", {}, false),
      kind<wire::PathRecord>("PathRecord", "PR", "paths", {}, false),
      kind<wire::McMemberRecord>("MCMemberRecord", "MCMR", "multicast", {}, false),
      kind<wire::LinearFdtRecord>("LFTRecord", "LFTR", "lft", {"LID/BlockNum"}, true),
      kind<wire::MulticastFdtRecord>("MFTRecord", "MFTR", "mft", {"LID/Position/BlockNum"}, true),
      kind<wire::GuidInfoRecord>("GUIDInfoRecord", "GIR", "guids", {"LID/BlockNum"}, true),
      kind<wire::SwitchInfoRecord>("SwitchInfoRecord", "SWIR", "switches", {"LID"}, true),
      kind<wire::SmInfoRecord>("SMInfoRecord", "SMIR", "managers", {"LID"}, true),
  };
  return all;
}

const RecordKind* find_record(std::string_view word) {
  const auto all = record_kinds();
  const auto at = std::ranges::find_if(all, [&](const RecordKind& k) {
    return same(word, k.name) || same(word, k.alias) || same(word, k.plain) ||
           same(word, k.structure->name);
  });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace ibpath
