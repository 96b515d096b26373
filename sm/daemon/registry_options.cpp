// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/registry_options.h"

#include "libdiag/base/text.h"

namespace sm::daemon {
void add_registry_options(ib::cli::CommandLine& line, RegistryOptions& o, sa::Options& server) {
  line.truth("--mcgroup_join_validation", server.multicast.join_validation,
             "Q_Key, P_Key, TClass, SL, FlowLabel, HopLimit of a join must be the group's (default "
             "TRUE)");
  line.truth("--ipoib_mcgroup_creation_validation", server.multicast.creation_validation,
             "MGIDs of new groups must be well formed, and IPoIB groups like their broadcast group "
             "(default TRUE)");
  line.flag("--consolidate_ipv6_snm_req", server.multicast.consolidate_ipv6_snm,
            "IPv6 solicited-node groups of a partition share a multicast LID");
  line.number("--sa_etm_max_num_mcgs", {1, 1'000'000},
              "Multicast memberships of one port, and of those that it joined by proxy, at most "
              "(default 1024)",
              [&server](std::uint64_t v) { server.quotas.groups = v; });
  line.option(
      "--store_sync", "SYNC",
      "What is registered survives the death of ibsm (normal, the default), or a power cut too "
      "(full)",
      [&o](const std::string& text) -> ib::Result<void> {
        if (text != "normal" && text != "full")
          return ib::fail(ib::ErrorKind::Usage,
                          "expected normal or full, got '" + ib::printable(text) + "'");
        o.sync = text == "full" ? store::Sync::Full : store::Sync::Normal;
        return {};
      });
  line.text("-S,--sadb_file", o.sa_db_file, "FILE",
            "SA dump to read at the start, as opensm or ibsm wrote it");
  line.number(
      "--sa_db_dump", {0, 86400},
      "Seconds between two SA dumps to opensm-sa.dump in the state directory, when something "
      "changed (default 30); 0: none",
      [&o](std::uint64_t v) { o.dump_every = std::chrono::seconds(v); });
}

}  // namespace sm::daemon
