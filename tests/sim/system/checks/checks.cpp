// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/sim/system/checks/check.h"

namespace soak {

Checks make_checks() {
  Checks all;
  all.push_back(make_reach_check());
  all.push_back(make_credit_loop_check());
  all.push_back(make_loop_check());
  all.push_back(make_lid_check());
  all.push_back(make_port_check());
  all.push_back(make_tree_check());
  all.push_back(make_registration_check());
  all.push_back(make_p_key_check());
  all.push_back(make_master_check());
  all.push_back(make_truth_check());
  all.push_back(make_bound_check());
  all.push_back(make_answer_check());
  all.push_back(make_quiet_check());
  return all;
}

}  // namespace soak
