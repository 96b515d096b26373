// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Puts a service record and a subscription into the SA, for others to print; or an alias GUID of
// the port, to be found by it.
//
//   records_probe KEY [ALIAS]        KEY: SM_Key of the requests
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "libdiag/mad/umad/umad_port.h"
#include "libdiag/query/sa_client.h"

namespace {

namespace wire = ib::wire;

int give_up(const ib::Error& error) {
  fmt::print(stderr, "records_probe: {}\n", error.message);
  return 1;
}

wire::ServiceRecord service(const ib::mad::PortFacts& facts) {
  wire::ServiceRecord r;
  r.service_id = 0x100000000001ABCDULL;
  r.service_gid = ib::Gid::from(facts.gid_prefix, facts.port_guid);
  r.service_p_key = ib::kDefaultPKey;
  r.lease = 0xFFFFFFFF;
  for (std::size_t i = 0; i < r.key.size(); ++i) r.key[i] = static_cast<std::uint8_t>(0xA0 + i);
  const std::string_view name = "storage.example";
  std::copy(name.begin(), name.end(), r.name.begin());
  for (std::size_t i = 0; i < r.data8.size(); ++i) r.data8[i] = static_cast<std::uint8_t>(i + 7);
  for (std::size_t i = 0; i < r.data16.size(); ++i)
    r.data16[i] = static_cast<std::uint16_t>(0x1600 + i);
  for (std::size_t i = 0; i < r.data32.size(); ++i)
    r.data32[i] = static_cast<std::uint32_t>(0x32000000 + i);
  r.data64 = {0x6400000000000001ULL, 0xFEDCBA9876543210ULL};
  return r;
}

wire::InformInfo subscription(std::uint16_t trap) {
  wire::InformInfo i;
  i.lid_range_begin = ib::kPermissiveLid;
  i.is_generic = 1;
  i.subscribe = 1;
  i.type = 0xFFFF;
  i.trap_number = trap;
  i.qpn = 1;
  i.resp_time_value = 18;
  i.producer_type = 0xFFFFFF;
  return i;
}

}  // namespace

int main(int argc, char** argv) {
  auto port = ib::mad::UmadPort::open();
  if (!port) return give_up(port.error());
  const auto facts = (*port)->facts();
  if (!facts) return give_up(facts.error());
  const auto address =
      ib::query::sa_address(*facts, argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 0);
  if (!address) return give_up(address.error());
  ib::mad::Session session(**port, {});
  ib::query::SaClient sa(session, *address);
  if (argc > 2) {
    wire::GuidInfoRecord alias;
    alias.lid = facts->lid;
    alias.guid_info.guid[1] = ib::Guid{std::strtoull(argv[2], nullptr, 0)};
    constexpr std::uint64_t kLidBlockAndGuid1 = 0x23;
    const auto given = sa.set(alias, kLidBlockAndGuid1);
    return given ? 0 : give_up(given.error());
  }
  const auto record = service(*facts);
  const auto stored = sa.set(record, wire::all_components<wire::ServiceRecord>());
  if (!stored) return give_up(stored.error());
  for (const std::uint16_t trap : {wire::trap::kGidInService, wire::trap::kLinkStateChange}) {
    const auto told = sa.set(subscription(trap), 0);
    if (!told) return give_up(told.error());
  }
  return 0;
}
