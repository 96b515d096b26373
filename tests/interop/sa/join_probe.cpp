// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Joins or leaves a multicast group for the local port, as no stock tool does:
//   join_probe join MGID | create MGID | leave MGID
// Prints "mlid 0xc000 state 1"; a refusal is printed and status 1.
#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "libdiag/mad/umad/umad_port.h"
#include "libdiag/query/sa_client.h"

namespace {

int complain(const ib::Error& error) {
  fmt::print("{}\n", error.message);
  return 1;
}

/// MGID, PortGID, JoinState; for a new group also Q_Key, TClass, P_Key, SL and FlowLabel.
constexpr std::uint64_t kJoinMask = 0x10003, kCreateMask = kJoinMask | 0x30C4;

}  // namespace

int main(int argc, char** argv) {
  ib::wire::McMemberRecord record;
  if (argc != 3 || !ib::parse_gid(argv[2], record.mgid)) return 2;
  const std::string_view verb = argv[1];
  auto port = ib::mad::UmadPort::open();
  if (!port) return complain(port.error());
  const auto facts = (*port)->facts();
  if (!facts) return complain(facts.error());
  const auto address = ib::query::sa_address(*facts);
  if (!address) return complain(address.error());
  ib::mad::Session session(**port, {});
  ib::query::SaClient sa(session, *address);

  record.port_gid = ib::Gid::from(facts->gid_prefix, facts->port_guid);
  record.join_state = 1;
  record.q_key = 0x0b1b;
  record.p_key = ib::kDefaultPKey;
  const auto answer = verb == "leave" ? sa.leave(record, kJoinMask)
                                      : sa.join(record, verb == "create" ? kCreateMask : kJoinMask);
  if (!answer) return complain(answer.error());
  fmt::print("mlid 0x{:x} state {}\n", answer->mlid.value, answer->join_state);
  return 0;
}
