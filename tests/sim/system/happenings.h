// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What events do, by subject: the functions of the rows in kinds.cpp.
#pragma once

#include "tests/sim/system/script.h"

namespace soak {

class System;

// happenings_managers.cpp: subnet managers, their disks and their operators
void start_another(System&, const Item&);
void kill_soon(System&, const Item&);
void hang(System&, const Item&);
void fill_disk(System&, const Item&);
void lose_disk(System&, const Item&);
void set_clock(System&, const Item&);
void order_sweep(System&, const Item&);
void order_reroute(System&, const Item&);
void change_priority(System&, const Item&);
void change_partitions(System&, const Item&);

// happenings_links.cpp: cables
void blink(System&, const Item&);
void flap(System&, const Item&);
void cut(System&, const Item&);
void move_cable(System&, const Item&);
void swap_cables(System&, const Item&);
void spoil_cable(System&, const Item&);

// happenings_nodes.cpp: nodes, and how MADs fare
void twin(Script&, const Item&);
void reboot(System&, const Item&);
void power_cycle_all(System&, const Item&);
void lose_power(System&, const Item&);
void fall_silent(System&, const Item&);
void babble(System&, const Item&);
void lie(System&, const Item&);
void be_odd(System&, const Item&);
void lose_mads(System&, const Item&);
void delay_mads(System&, const Item&);
void double_mads(System&, const Item&);
void mix_mads(System&, const Item&);
void slow_agents(System&, const Item&);
void small_buffers(System&, const Item&);

// happenings_clients.cpp: clients, and the host that misbehaves
void register_things(System&, const Item&);
void forge_traps(System&, const Item&);
void forge_sm_info(System&, const Item&);
void flood_sa(System&, const Item&);

}  // namespace soak
