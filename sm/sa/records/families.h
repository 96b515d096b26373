// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The families of records, one file each: who asks and what for goes in, a source of records comes
// out.
#pragma once

#include "sm/sa/records/record_source.h"

namespace sm::sa {

Opened open_groups(const World& world, const Query& query);            // MCMemberRecord
Opened open_guids(const World& world, const Query& query);             // GUIDInfoRecord
Opened open_linear_tables(const World& world, const Query& query);     // LinearFDTRecord
Opened open_links(const World& world, const Query& query);             // LinkRecord
Opened open_multicast_tables(const World& world, const Query& query);  // MulticastFDTRecord
Opened open_nodes(const World& world, const Query& query);             // NodeRecord
Opened open_p_keys(const World& world, const Query& query);            // P_KeyTableRecord
Opened open_ports(const World& world, const Query& query);             // PortInfoRecord
Opened open_services(const World& world, const Query& query);          // ServiceRecord
Opened open_sl_to_vl(const World& world, const Query& query);          // SLtoVLMappingTableRecord
Opened open_subnet_managers(const World& world, const Query& query);   // SMInfoRecord
Opened open_subscriptions(const World& world, const Query& query);     // InformInfoRecord
Opened open_switches(const World& world, const Query& query);          // SwitchInfoRecord
Opened open_vl_arbitration(const World& world, const Query& query);    // VLArbitrationTableRecord

}  // namespace sm::sa
