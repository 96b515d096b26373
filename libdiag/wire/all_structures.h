// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The list of all described structures as types. A new structure is added here and nowhere else:
// the registry, the fuzz target and the test of all structures walk this list.
#pragma once

#include "libdiag/wire/adaptive_attributes.h"
#include "libdiag/wire/congestion_attributes.h"
#include "libdiag/wire/gmp_attributes.h"
#include "libdiag/wire/mad.h"
#include "libdiag/wire/performance_attributes.h"
#include "libdiag/wire/port_attributes.h"
#include "libdiag/wire/sa_records.h"
#include "libdiag/wire/smp_attributes.h"
#include "libdiag/wire/tracer_attributes.h"
#include "libdiag/wire/virtualization_attributes.h"

namespace ib::wire {

template <class... T>
struct TypeList {
  /// Calls `visit.template operator()<T>()` for each type.
  template <class Visitor>
  static void for_each(Visitor&& visit) {
    (visit.template operator()<T>(), ...);
  }
};

using AllStructures =
    TypeList<MadHeader, SmpHeader, RmppHeader, SaHeader, VendorHeader, NodeInfo, NodeDescription,
             SwitchInfo, PortInfo, PKeyTable, SlToVlTable, VlArbitrationTable,
             LinearForwardingTable, MulticastForwardingTable, GuidInfo, SmInfo, Notice,
             PortInfoExtended, SwitchPortStateTable, MlnxExtendedPortInfo, MlnxSpecialPort,
             MlnxGeneralInfo, MlnxQosConfigSl, MlnxArInfo, MlnxArGroup, MlnxArLft,
             VirtualizationInfo, VPortInfo, VNodeInfo, VPortStates, ClassPortInfo, PortCounters,
             PortCountersExtended, PortErrorsExtended, PortRcvErrorDetails, PortXmitDiscardDetails,
             PortVlOpPackets, PortVlOpData, PortVlXmitWait, PortXmitDataSl, PortRcvDataSl,
             CongestionHeader, CongestionInfo, CongestionKeyInfo, SwitchCongestionEvent,
             SwitchCongestionLog, CaCongestionEvent, CaCongestionLog, CongestionDelay,
             SwitchCongestionSetting, SwitchPortCongestion, SwitchPortCongestionSetting,
             CaCongestionEntry, CaCongestionSetting, CongestionControlTable, CongestionTimeStamp,
             SourceRoute, MulticastRoute, Ping, InformInfo, NodeRecord, PortInfoRecord,
             SlToVlRecord, SwitchInfoRecord, LinearFdtRecord, MulticastFdtRecord, SmInfoRecord,
             VlArbitrationRecord, PKeyTableRecord, InformInfoRecord, LinkRecord, ServiceRecord,
             GuidInfoRecord, PathRecord, McMemberRecord, TraceRecord, MultiPathRecord>;

}  // namespace ib::wire
