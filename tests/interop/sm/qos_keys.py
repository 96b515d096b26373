# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An options file that sets keys of every QoS set, which stock opensm reads as well."""

QOS_KEYS = """qos TRUE
qos_max_vls 8
qos_high_limit 6
qos_vlarb_high 0:64,1:128
qos_vlarb_low 2:64,3:64,4:128,
qos_sl2vl 0,1,2,3,4,5,6,7,15,15,15,15,15,15,15,15
qos_ca_sl2vl 0,0,1,1,2,2,3,3,15,15,15,15,15,15,15,15
qos_ca_high_limit 2
qos_swe_vlarb_high 1:255
qos_swe_sl2vl 1,1,1,1,1,1,1,1,15,15,15,15,15,15,15,15
"""
