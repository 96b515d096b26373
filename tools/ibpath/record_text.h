// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Every record as saquery prints it, to the letter. Where saquery itself prints what cannot be
// meant, doc/ibpath.md says so and this does what is meant.
#pragma once

#include <string>

#include "libdiag/wire/sa_records.h"
#include "tools/ibpath/records.h"

namespace ibpath {

/// A record in the lines of saquery.
std::string record_text(const ib::wire::ClassPortInfo& r, const TextOptions& options);
std::string record_text(const ib::wire::NodeRecord& r, const TextOptions& options);
std::string record_text(const ib::wire::PortInfoRecord& r, const TextOptions& options);
std::string record_text(const ib::wire::SlToVlRecord& r, const TextOptions& options);
std::string record_text(const ib::wire::PKeyTableRecord& r, const TextOptions& options);
std::string record_text(const ib::wire::VlArbitrationRecord& r, const TextOptions& options);
std::string record_text(const ib::wire::InformInfoRecord& r, const TextOptions& options);
std::string record_text(const ib::wire::LinkRecord& r, const TextOptions& options);
std::string record_text(const ib::wire::ServiceRecord& r, const TextOptions& options);
std::string record_text(const ib::wire::PathRecord& r, const TextOptions& options);
std::string record_text(const ib::wire::McMemberRecord& r, const TextOptions& options);
std::string record_text(const ib::wire::LinearFdtRecord& r, const TextOptions& options);
std::string record_text(const ib::wire::MulticastFdtRecord& r, const TextOptions& options);
std::string record_text(const ib::wire::GuidInfoRecord& r, const TextOptions& options);
std::string record_text(const ib::wire::SwitchInfoRecord& r, const TextOptions& options);
std::string record_text(const ib::wire::SmInfoRecord& r, const TextOptions& options);
/// saquery has no TraceRecord; in its manner.
std::string record_text(const ib::wire::TraceRecord& r, const TextOptions& options);

/// To a requester without its key an SA shows each group in place of its members: no port of it.
bool is_member_shown(const ib::wire::McMemberRecord& r);

/// The other forms of saquery: -s, -g, and -m without and with a group. Of a member that is not
/// shown there is no node.
std::string sm_port_text(const ib::wire::PortInfoRecord& r);
std::string group_text(const ib::wire::McMemberRecord& r);
std::string member_text(const ib::wire::McMemberRecord& r, const std::string& node);
std::string member_of_group_text(const ib::wire::McMemberRecord& r, const std::string& node);

}  // namespace ibpath
