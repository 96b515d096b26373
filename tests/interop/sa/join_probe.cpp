// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Registers the local port at subnet administration, as no stock tool does:
//   join_probe join MGID | create MGID | leave MGID     a multicast group: "mlid 0xc000 state 1"
//   join_probe send MGID                                the same, to send only: state 4
//   join_probe serve NAME                               a service: "service 0x1234"
//   join_probe subscribe TRAP                           traps of any port: "subscribed"
//   join_probe alias GUID                               entry 1 of its GUIDs: "alias 0x..."
//   join_probe ask SECONDS                              a path and a service in turn, as fast as it
//                                                       is answered: "asked 90 failed 0 longest 8"
//                                                       (ms); each asks who its subnet manager is
// A refusal is printed and status 1.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/interop/sa/local_sa.h"

namespace {

using ib::wire::InformInfo;
using ib::wire::ServiceRecord;
using probe::complain;
using probe::LocalSa;

/// MGID, PortGID, JoinState; for a new group also Q_Key, TClass, P_Key, SL and FlowLabel.
constexpr std::uint64_t kJoinMask = 0x10003, kCreateMask = kJoinMask | 0x30C4;

int serve(ib::query::SaClient& sa, const LocalSa& local, std::string_view name) {
  ServiceRecord record;
  record.service_id = 0x1234;
  record.service_gid = local.gid();
  record.service_p_key = ib::kDefaultPKey;
  record.lease = 3600;
  name.copy(record.name.data(), record.name.size());
  // ServiceID, ServiceGID, ServiceP_Key, Lease, Name.
  const auto answer = sa.set(record, 0x57);
  if (!answer) return complain(answer.error());
  fmt::print("service 0x{:x}\n", answer->service_id);
  return 0;
}

int subscribe(ib::query::SaClient& sa, const char* trap) {
  InformInfo info;
  info.lid_range_begin = ib::Lid{0xFFFF};
  info.is_generic = 1;
  info.subscribe = 1;
  info.type = 3;
  info.trap_number = static_cast<std::uint16_t>(std::atoi(trap));
  info.qpn = 1;
  info.resp_time_value = 18;
  info.producer_type = 4;
  const auto answer = sa.set(info, 0);
  if (!answer) return complain(answer.error());
  fmt::print("subscribed\n");
  return 0;
}

int set_alias(ib::query::SaClient& sa, const LocalSa& local, ib::Guid guid) {
  ib::wire::GuidInfoRecord record;
  record.lid = local.facts.lid;
  record.guid_info.guid[1] = guid;
  // LID, BlockNum, GID1.
  const auto answer = sa.set(record, 0x23);
  if (!answer) return complain(answer.error());
  fmt::print("alias {}\n", to_string(answer->guid_info.guid[1]));
  return 0;
}

/// A client of its own each time: it finds its subnet administration, and asks that until it gives
/// up.
ib::Result<void> ask_once(bool registers) {
  const auto local = probe::find_local_sa();
  if (!local) return tl::unexpected<ib::Error>(local.error());
  ib::mad::Session session(*local->port, {});
  ib::query::SaClient sa(session, local->address);
  if (registers) {
    ServiceRecord record;
    record.service_id = 0x4321;
    record.service_gid = local->gid();
    record.service_p_key = ib::kDefaultPKey;
    record.lease = 3600;
    const auto answer = sa.set(record, 0x17);
    if (!answer) return tl::unexpected<ib::Error>(answer.error());
    return {};
  }
  ib::wire::PathRecord path;
  path.sgid = path.dgid = local->gid();
  const auto answer =
      sa.get(path, ib::query::component::kPathSgid | ib::query::component::kPathDgid);
  if (!answer) return tl::unexpected<ib::Error>(answer.error());
  return {};
}

int ask(int seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  unsigned asked = 0, failed = 0;
  Clock::duration longest{};
  for (auto begun = Clock::now(); begun < end; begun = Clock::now()) {
    const auto answer = ask_once(asked++ % 2 == 1);
    longest = std::max(longest, Clock::now() - begun);
    if (answer) continue;
    ++failed;
    fmt::print("{}\n", answer.error().message);
  }
  fmt::print("asked {} failed {} longest {}\n", asked, failed,
             longest / std::chrono::milliseconds(1));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string_view verb = argv[1];
  if (verb == "ask") return ask(std::atoi(argv[2]));
  ib::wire::McMemberRecord record;
  ib::Guid guid;
  if (verb == "alias" && !ib::parse_guid(argv[2], guid)) return 2;
  const bool of_group = verb != "serve" && verb != "subscribe" && verb != "alias";
  if (of_group && !ib::parse_gid(argv[2], record.mgid)) return 2;
  const auto local = probe::find_local_sa();
  if (!local) return complain(local.error());
  ib::mad::Session session(*local->port, {});
  ib::query::SaClient sa(session, local->address);

  if (verb == "serve") return serve(sa, *local, argv[2]);
  if (verb == "alias") return set_alias(sa, *local, guid);
  if (verb == "subscribe") return subscribe(sa, argv[2]);

  record.port_gid = local->gid();
  record.join_state = verb == "send" ? 4 : 1;
  record.q_key = 0x0b1b;
  record.p_key = ib::kDefaultPKey;
  const auto answer = verb == "leave" ? sa.leave(record, kJoinMask)
                                      : sa.join(record, verb == "create" ? kCreateMask : kJoinMask);
  if (!answer) return complain(answer.error());
  fmt::print("mlid 0x{:x} state {}\n", answer->mlid.value, answer->join_state);
  return 0;
}
