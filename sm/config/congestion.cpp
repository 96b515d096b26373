// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/config/congestion.h"

#include <algorithm>
#include <string>

#include "libdiag/base/text.h"
#include "sm/config/table.h"
#include "sm/policy/congestion_values.h"

namespace sm::config {
namespace {

/// Empty: nothing was said.
std::string said(const Configuration& configuration, std::string_view key) {
  const Row* row = find_key(key);
  return row == nullptr ? std::string() : configuration.origin(*row).value;
}

ib::wire::CongestionPortMask ports(const Configuration& configuration, std::string_view key) {
  return policy::read_port_mask(said(configuration, key)).value_or(ib::wire::CongestionPortMask{});
}

std::array<std::uint16_t, 16> of_sls(const Configuration& configuration, std::string_view key) {
  return policy::read_sl_values(said(configuration, key), 0xFFFF)
      .value_or(std::array<std::uint16_t, 16>{});
}

ib::wire::SwitchCongestionSetting of_switch(const Configuration& c) {
  const Settings& s = c.settings;
  ib::wire::SwitchCongestionSetting out;
  out.control_map = static_cast<std::uint32_t>(s.cc_sw_control_map);
  out.victim_mask = ports(c, "cc_sw_cong_setting_victim_mask");
  out.credit_mask = ports(c, "cc_sw_cong_setting_credit_mask");
  out.threshold = static_cast<std::uint8_t>(s.cc_sw_threshold);
  out.packet_size = static_cast<std::uint8_t>(s.cc_sw_packet_size);
  out.cs_threshold = static_cast<std::uint8_t>(s.cc_sw_credit_starvation_threshold);
  out.cs_return_delay =
      policy::read_congestion_delay(said(c, "cc_sw_cong_setting_credit_starvation_return_delay"))
          .value_or(ib::wire::CongestionDelay{});
  out.marking_rate = static_cast<std::uint16_t>(s.cc_sw_marking_rate);
  return out;
}

ib::wire::CaCongestionSetting of_ca(const Configuration& c) {
  ib::wire::CaCongestionSetting out;
  out.port_control = static_cast<std::uint16_t>(c.settings.cc_ca_port_control);
  out.control_map = static_cast<std::uint16_t>(c.settings.cc_ca_control_map);
  const auto timer = of_sls(c, "cc_ca_cong_setting_ccti_timer");
  const auto increase = of_sls(c, "cc_ca_cong_setting_ccti_increase");
  const auto trigger = of_sls(c, "cc_ca_cong_setting_trigger_threshold");
  const auto least = of_sls(c, "cc_ca_cong_setting_ccti_min");
  for (std::size_t sl = 0; sl < out.entries.size(); ++sl)
    out.entries[sl] = {timer[sl], static_cast<std::uint8_t>(increase[sl]),
                       static_cast<std::uint8_t>(trigger[sl]),
                       static_cast<std::uint8_t>(least[sl])};
  return out;
}

}  // namespace

policy::CongestionSettings congestion_settings(const Configuration& configuration) {
  policy::CongestionSettings out;
  out.of_switch = of_switch(configuration);
  out.of_ca = of_ca(configuration);
  out.victims_by_ports = out.timer_by_hosts = out.table_by_hosts = out.last_fills = false;
  if (auto table = policy::read_congestion_table(said(configuration, "cc_cct")))
    out.table = *std::move(table);
  take_congestion_key(configuration.settings, out);
  return out;
}

void take_congestion_key(const Settings& settings, policy::CongestionSettings& to) {
  to.cc_key = settings.cc_key;
  to.key_protect = settings.cc_key_protect_bit;
  to.key_lease = static_cast<std::uint16_t>(settings.cc_key_lease_period);
  to.requests_most = static_cast<std::uint32_t>(settings.cc_max_outstanding_mads);
}

}  // namespace sm::config
