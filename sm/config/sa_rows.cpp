// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <array>
#include <string>

#include "libdiag/base/ids.h"
#include "libdiag/base/text.h"
#include "sm/config/rows.h"
#include "sm/config/store_place.h"

namespace sm::config {
namespace {

using S = Settings;

tl::unexpected<ib::Error> expected(const char* what, std::string_view got) {
  return ib::fail(ib::ErrorKind::Usage,
                  std::string("expected ") + what + ", got '" + ib::printable(got) + "'");
}

ib::Result<void> check_store(std::string_view value) {
  return StorePlace::read(value).map([](const auto&) {});
}

ib::Result<void> check_sa_key(std::string_view key) {
  std::uint64_t number = 0;
  if (key == "auto" || (ib::parse_number(key, UINT64_MAX, number) && number != 0)) return {};
  return expected("a number from 1 to 0xffffffffffffffff, or `auto`", key);
}

/// opensm has a truth here, and writes at every sweep.
ib::Result<void> check_dump(std::string_view pause) {
  std::uint64_t number = 0;
  if (pause == "TRUE" || pause == "FALSE" || ib::parse_number(pause, 86'400, number)) return {};
  return expected("a number from 0 to 86400", pause);
}

constexpr std::array kSa = {
    text("--sa_key", "sa_key", &S::sa_key, "KEY",
         "Key that makes requests to the SA trusted (default 1); auto: a secret one, kept in the "
         "state directory",
         check_sa_key)
        .opensm_has("0x0000000000000001"),
    flag("--sa_enhanced_trust_model", "sa_enhanced_trust_model", &S::sa_enhanced_trust_model,
         "Deny untrusted requests all but ClassPortInfo, paths between two points, multicast, "
         "services, subscriptions"),
    flag("--sa_etm_allow_untrusted_guidinfo_rec", "sa_etm_allow_untrusted_guidinfo_rec",
         &S::sa_etm_allow_untrusted_guidinfo_rec, "... and alias GUIDs"),
    truth("--sa_etm_allow_untrusted_proxy_requests", "sa_etm_allow_untrusted_proxy_requests",
          &S::sa_etm_allow_untrusted_proxy_requests,
          "... and joins of multicast groups for other ports (default TRUE)"),
    number("--sa_etm_max_num_srvcs", "sa_etm_max_num_srvcs", &S::sa_etm_max_num_srvcs, 1, 1U << 20,
           "Services that one port may register (default 32)"),
    number("--sa_etm_max_num_event_subs", "sa_etm_max_num_event_subs",
           &S::sa_etm_max_num_event_subs, 1, 1U << 20,
           "Subscriptions that one port may have (default 32)"),
    unflag("--no_sa_check_sgid_spoofing", "sa_check_sgid_spoofing", &S::sa_check_sgid_spoofing,
           "Serve requests whose GRH has another port's GID"),
    number("--max_outstanding,--sa_max_outstanding", "sa_max_outstanding,max_outstanding",
           &S::sa_max_outstanding, 1, 1U << 20,
           "Tables on their way to one requester, at most (default 16)"),
    number("--queue_size,--sa_queue_size", "sa_queue_size,queue_size", &S::sa_queue_size, 16,
           1U << 20,
           "Requests of one requester that wait, at most; more are answered BUSY (default 1024)"),
    number("--time_sa_mad,--max_msg_fifo_timeout", "max_msg_fifo_timeout,time_sa_mad",
           &S::max_msg_fifo_timeout, 1, 10'000,
           "Longest wait in a queue, in ms, before the answer is BUSY (default 2000)")
        .a("milliseconds")
        .in("ms")
        .opensm_has("10000"),
    number("--rx_threshold,--sa_rx_threshold", "rx_threshold,sa_rx_threshold", &S::rx_threshold, 64,
           1U << 20,
           "MADs that wait to be read, at most, of QP0, of the SA and of managers each; more are "
           "dropped (default 8192)"),
    truth("--mcgroup_join_validation", "mcgroup_join_validation", &S::mcgroup_join_validation,
          "Q_Key, P_Key, TClass, SL, FlowLabel, HopLimit of a join must be the group's (default "
          "TRUE)"),
    truth("--ipoib_mcgroup_creation_validation", "ipoib_mcgroup_creation_validation",
          &S::ipoib_mcgroup_creation_validation,
          "MGIDs of new groups must be well formed, and IPoIB groups like their broadcast group "
          "(default TRUE)"),
    flag("--consolidate_ipv6_snm_req,--consolidate_ipv6_snm_reqests", "consolidate_ipv6_snm_req",
         &S::consolidate_ipv6_snm_req,
         "IPv6 solicited-node groups of a partition share a multicast LID"),
    number("--sa_etm_max_num_mcgs", "sa_etm_max_num_mcgs", &S::sa_etm_max_num_mcgs, 1, 1'000'000,
           "Multicast memberships of one port, and of those that it joined by proxy, at most "
           "(default 1024)"),
    number("--sa_untrusted_records", "sa_untrusted_records", &S::sa_untrusted_records, 0,
           UINT32_MAX,
           "Paths that a table of all paths may have for the untrusted (default 10000)"),
    text("--prefix_routes_file", "prefix_routes_file", &S::prefix_routes_file, "FILE",
         "Which router leads to which subnet: lines of a prefix and a port GUID, or *")
        .opensm_has("/etc/opensm/prefix-routes.conf")
        .contents_on_reload(),
    number("--rtr_pr_flow_label", "rtr_pr_flow_label", &S::rtr_pr_flow_label, 0, 0xFFFFF,
           "FlowLabel of paths through a router (default 0)"),
    number("--rtr_pr_tclass", "rtr_pr_tclass", &S::rtr_pr_tclass, 0, 255,
           "Traffic class of paths through a router (default 0)"),
    number("--rtr_pr_sl", "rtr_pr_sl", &S::rtr_pr_sl, 0, 15,
           "SL of paths through a router (default 0)"),
    number("--rtr_pr_mtu,--rtr_p_mtu", "rtr_pr_mtu,rtr_p_mtu", &S::rtr_pr_mtu, 1, 5,
           "MTU of paths through a router, at most (default 4: 2048)")
        .a("a code"),
    number("--rtr_pr_rate", "rtr_pr_rate", &S::rtr_pr_rate, 2, 25,
           "Rate of paths through a router, at most (default 16: 100 Gb/s)")
        .a("a code"),
    number("", "rtr_aguid_enable", &S::rtr_aguid_enable, 0, 2,
           "Alias GUIDs that end with the LID, for routers: 1 each host port has one, 2 they are "
           "taken back, 0 they stay as they are"),
    truth("", "drop_event_subscriptions", {}, "Drop subscriptions of ports that are gone")
        .opensm_has("FALSE")
        .not_yet("subscriptions end by the rules of doc/sa.md"),
    truth("", "use_original_extended_sa_rates_only", &S::use_original_extended_sa_rates_only,
          "Paths have rates up to code 18 alone, the next slower ones instead of later codes")
        .opensm_has("FALSE"),
    number("", "max_rate_enum", &S::max_rate_enum, 2, 63,
           "Highest rate code of paths, the next slower rate instead of higher codes"),
    truth("", "no_clients_rereg", &S::no_clients_rereg,
          "Never ask ports to register again, though registrations may be gone")
        .on_reload(),
    truth("", "disable_multicast", &S::disable_multicast,
          "No multicast: joins are refused, tables of switches stay as they are"),
};

constexpr std::array kStore = {
    text("--state-dir", "state_dir", &S::state_dir, "DIR",
         "What must survive a restart is kept here (default $IBSM_STATE_DIR, $OSM_CACHE_DIR, "
         "under ibfabric beside its socket, /var/lib/ibsm)"),
    text("--store", "store", &S::store, "PLACE",
         "Where what must survive is kept instead: etcd://HOST[:PORT],HOST[:PORT],... , members of "
         "one cluster of etcd, that standbys share; etcds:// for TLS; port 2379 if none is given",
         check_store),
    text("", "store_prefix", &S::store_prefix, "PREFIX",
         "Keys of this fabric in etcd begin with it; each fabric has its own (default "
         "/ibkit/default/)",
         check_store_prefix),
    text("", "store_ca", &S::store_ca, "FILE",
         "Certificates of the authorities that etcd's certificate is to be of (default: the "
         "system's)"),
    text("", "store_cert", &S::store_cert, "FILE",
         "Certificate that etcd is shown; with store_key"),
    text("", "store_key", &S::store_key, "FILE", "The key of store_cert"),
    text("", "store_user", &S::store_user, "NAME", "User of etcd; with store_password_file"),
    text("", "store_password_file", &S::store_password_file, "FILE",
         "The password of store_user is its first line; nobody else may read the file"),
    word("--store_sync", "store_sync", &S::store_sync, "SYNC", "normal|full",
         "What is registered survives the death of ibsm (normal, the default), or a power cut too "
         "(full)"),
    text("-S,--sadb_file", "sa_db_file", &S::sa_db_file, "FILE",
         "SA dump to read at the start, as opensm or ibsm wrote it"),
    text("--sa_db_dump", "sa_db_dump", &S::sa_db_dump, "N",
         "Seconds between two SA dumps to opensm-sa.dump in the state directory, when something "
         "changed (default 30); 0: none; 0 to 86400",
         check_dump)
        .in("s")
        .opensm_has("FALSE"),
};

}  // namespace

std::vector<Part> sa_rows() { return {{Section::Sa, kSa}, {Section::Store, kStore}}; }

}  // namespace sm::config
