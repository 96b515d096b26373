// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/sim/system/kinds.h"

#include "tests/sim/system/happenings.h"

namespace soak {
namespace {

constexpr Kind kKinds[] = {
    {"another subnet manager starts", 10, nullptr, start_another},
    {"a subnet manager dies after some SMPs", 12, nullptr, kill_soon},
    {"a subnet manager hangs for a while", 4, nullptr, hang},
    {"a disk is full for a while", 3, nullptr, fill_disk},
    {"a subnet manager dies and its disk is lost", 2, nullptr, lose_disk},
    {"the clock jumps", 2, nullptr, set_clock},
    {"the operator asks for a sweep", 3, nullptr, order_sweep},
    {"the operator asks for routes again", 2, nullptr, order_reroute},
    {"the operator changes a priority", 3, nullptr, change_priority},
    {"the operator changes partitions", 3, nullptr, change_partitions},
    {"a link goes down for a moment", 10, nullptr, blink},
    {"a link flaps", 4, nullptr, flap},
    {"a link goes down", 6, nullptr, cut},
    {"a cable is moved", 4, nullptr, move_cable},
    {"two cables are swapped", 3, nullptr, swap_cables},
    {"a cable loses MADs", 3, nullptr, spoil_cable},
    {"two hosts have one GUID", 2, twin, nullptr},
    {"a node reboots", 8, nullptr, reboot},
    {"everything reboots", 1, nullptr, power_cycle_all},
    {"a node loses power", 6, nullptr, lose_power},
    {"a node is silent for a while", 5, nullptr, fall_silent},
    {"a node answers garbage for a while", 3, nullptr, babble},
    {"a node lies for a while", 4, nullptr, lie},
    {"a node is odd", 6, nullptr, be_odd},
    {"MADs are lost for a while", 8, nullptr, lose_mads},
    {"MADs are late for a while", 3, nullptr, delay_mads},
    {"MADs come twice for a while", 3, nullptr, double_mads},
    {"MADs overtake each other for a while", 3, nullptr, mix_mads},
    {"agents are slow for a while", 4, nullptr, slow_agents},
    {"buffers are small for a while", 2, nullptr, small_buffers},
    {"clients register things", 14, nullptr, register_things},
    {"a host forges traps", 3, nullptr, forge_traps},
    {"a host forges SMInfo", 3, nullptr, forge_sm_info},
    {"a host floods subnet administration", 2, nullptr, flood_sa},
};

}  // namespace

std::span<const Kind> kinds() { return kKinds; }

}  // namespace soak
