// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/intake/read_refusals.h"

#include <fmt/format.h>

#include "libdiag/base/text.h"
#include "libdiag/wire/registry.h"
#include "sm/sa/paths/path_records.h"

namespace sm::sa {
namespace {

using ib::Gid;
using ib::wire::PathRecord;
namespace attr = ib::wire::attr;
namespace status = ib::wire::status;

bool is_ours(const World& world, const Gid& gid) {
  return world.is_own_prefix(gid.prefix()) || gid.is_multicast();
}

/// Which GID of a request for paths cannot be reached, and what would help.
std::string why_no_path(const World& world, const Query& query) {
  if (query.attribute == attr::kMultiPathRecord)
    return fmt::format("a GID is no port's here (subnet prefix 0x{:016x}), nor an alias of one",
                       world.snapshot().subnet_prefix);
  const auto wanted = ib::wire::decode<PathRecord>(query.wanted.data());
  if (has_bit(query.mask, path_bit::kSgid) && wanted.sgid.is_multicast())
    return fmt::format("SGID {} is a group's: no port sends from it", to_string(wanted.sgid));
  if (has_bit(query.mask, path_bit::kSgid) && !is_ours(world, wanted.sgid))
    return fmt::format("the prefix of SGID {} is not that of this subnet, 0x{:016x}",
                       to_string(wanted.sgid), world.snapshot().subnet_prefix);
  const std::string router = has_bit(query.mask, path_bit::kDlid)
                                 ? fmt::format("router with DLID {}", wanted.dlid.value)
                                 : std::string("router");
  return fmt::format("no {} is known to lead to the subnet of DGID {} (prefix_routes_file)", router,
                     to_string(wanted.dgid));
}

}  // namespace

std::string name_of_requester(const Paths& paths, ib::Lid from) {
  const auto* port = paths.find(from);
  if (port == nullptr) return fmt::format("LID {}, which no port has,", from.value);
  return fmt::format("{} port {} ({}, LID {})",
                     ib::printable(paths.snapshot().fabric().node(port->port.node).name()),
                     port->port.port, to_string(port->guid), from.value);
}

std::string why_not_read(const World& world, const Query& query, ib::Lid from,
                         std::uint16_t refusal) {
  const auto who = [&] { return name_of_requester(*world.paths, from); };
  const bool of_paths = query.attribute == attr::kPathRecord ||
                        query.attribute == attr::kMultiPathRecord ||
                        query.attribute == attr::kTraceRecord;
  if (query.attribute == attr::kPKeyTableRecord && refusal == status::kSaReqInvalid &&
      !query.requester.trusted)
    return fmt::format("{} asks for P_Key tables: they are shown to requests with the SA key only",
                       who());
  if (of_paths && refusal == status::kSaInvalidGid)
    return fmt::format("{} asks for a path: {}", who(), why_no_path(world, query));
  if (of_paths && refusal == kTooMuchForTheUntrusted)
    return fmt::format(
        "{} asks for all paths of the subnet without the SA key: that may be more "
        "than {} records (sa_untrusted_records); it is to name one end, or to have "
        "the key",
        who(), world.policy.untrusted_records_max);
  return {};
}

std::string why_not_trusted(const Paths& paths, const ib::mad::Packet& request) {
  const auto id = request.mad.attribute_id();
  const auto name = ib::wire::attribute_name(ib::wire::MgmtClass::SubnAdm, id);
  return fmt::format("{} asks for {}({}) without the SA key: sa_enhanced_trust_model denies it",
                     name_of_requester(paths, request.address.lid),
                     ib::wire::method_name(request.mad.method()),
                     name.empty() ? fmt::format("attribute 0x{:04x}", id) : std::string(name));
}

std::string why_not_its_gid(const Paths& paths, const ib::mad::Packet& request) {
  return fmt::format(
      "{} sends a GRH with the GID of another port, {}: refused "
      "(no_sa_check_sgid_spoofing serves it)",
      name_of_requester(paths, request.address.lid), to_string(request.address.grh->gid));
}

}  // namespace sm::sa
