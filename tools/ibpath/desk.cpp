// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibpath/desk.h"

#include <cstdio>

#include "tools/ibpath/paths.h"

namespace ibpath {

Desk::Desk(const Options& options, ib::tools::Connection& connection,
           const ib::query::SaAddress& address)
    : options_(options), connection_(connection), sa_(connection.session(), address) {}

ib::Result<std::vector<ib::Lid>> Desk::lids(const ib::tools::Target& target) {
  const auto ends = resolve(*this, target);
  if (!ends) return tl::unexpected(ends.error());
  std::vector<ib::Lid> lids;
  for (const End& end : *ends) {
    if (end.lid) {
      lids.push_back(*end.lid);
      continue;
    }
    ib::wire::NodeRecord wanted;
    wanted.node_info.port_guid = end.gid->guid();
    const auto found = table(wanted, ib::query::component::kNodePortGuid);
    if (!found) return tl::unexpected(found.error());
    if (found->empty())
      return ib::fail(ib::ErrorKind::NotFound,
                      "the SA knows no port of GID " + to_string(*end.gid));
    lids.push_back(found->front().lid);
  }
  return lids;
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int found_nothing(const std::string& what) {
  return ib::tools::complain(kProgram, what, ib::tools::kExitFound);
}

}  // namespace ibpath
