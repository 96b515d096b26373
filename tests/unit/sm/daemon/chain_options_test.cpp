// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Options of routing chains: the three files that a chain is made of, and those of its steps.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "libdiag/route/chain/chain.h"
#include "tests/unit/sm/daemon/command_line.h"

namespace sm::daemon {
namespace {

class ChainOptions : public OptionsFile {
 protected:
  ChainOptions() {
    groups_ = write("groups", "port-group\nname: island\nport-guid: 0x77@1-3\nend-port-group\n");
    topologies_ =
        write("topo", "topology\nid: 1\nsw-grp: island\nhca-grp: ALL_CAS\nend-topology\n");
    roots_ = write("roots", "0x77\n");
    step_conf_ = write("step.conf", ("root_guid_file " + roots_ + "\nlmc 3\n").c_str());
    steps_ = write("steps", ("unicast-step\nid: 1\nengine: minhop\nend-unicast-step\n"
                             "unicast-step\nid: 2\nengine: updn\ntopology: 1\npath-bit: 1\n"
                             "config: " +
                             step_conf_ + "\nend-unicast-step\n")
                                .c_str());
    conf_ =
        write("conf", ("routing_engine chain\nscatter_ports 7\nlmc 1\npgrp_policy_file " + groups_ +
                       "\ntopo_policy_file " + topologies_ + "\nrch_policy_file " + steps_ + "\n")
                          .c_str());
  }
  std::string groups_, topologies_, roots_, step_conf_, steps_, conf_;
};

TEST_F(ChainOptions, ARoutingChainIsReadWithItsFiles) {
  const auto options = std::get<DaemonOptions>(read({"-F", conf_.c_str()}));
  EXPECT_TRUE(options.routing_files);
  const auto* chain = options.core.plan.choice.engine.chain.get();
  ASSERT_NE(chain, nullptr);
  ASSERT_EQ(chain->steps.size(), 2U);
  EXPECT_EQ(chain->steps[0].options, nullptr);
  // What the step's file says, and what it leaves to the main one.
  ASSERT_NE(chain->steps[1].options, nullptr);
  EXPECT_EQ(chain->steps[1].options->roots.guids(), std::vector{ib::Guid{0x77}});
  EXPECT_EQ(chain->steps[1].options->scatter_seed, 7U);
  EXPECT_TRUE(options.core.plan.choice.engine.roots.empty());
  EXPECT_EQ(options.warnings,
            std::vector{step_conf_ + ": counts in the main options file alone: lmc (line 2)"});
  EXPECT_EQ(options.core.plan.mentions.size(), 2U);
  const auto unknown = unknown_names(ib::fabric::Fabric(), options.core.plan.mentions);
  EXPECT_EQ(unknown[0], groups_ + ":3: no node has the GUID 0x0000000000000077");
}

TEST_F(ChainOptions, ARoutingChainWithAMistakeIsRefusedWhole) {
  write("topo", "topology\nid: 1\nsw-grp: islnd\nhca-grp: ALL\nend-topology\n");
  EXPECT_EQ(all_of_refusal({"-F", conf_.c_str()}),
            "ibsm: cannot use the topologies of " + topologies_ + "\nibsm: " + topologies_ +
                ":3:9: error: 'islnd' is no port group of " + groups_ +
                "; did you mean 'island'?\nibsm:   sw-grp: islnd\nibsm:           ^\n");
  write("topo", "topology\nid: 2\nsw-grp: island\nhca-grp: ALL\nend-topology\n");
  EXPECT_EQ(refusal({"-F", conf_.c_str()}), "ibsm: cannot use the routing chain of " + steps_);
  std::filesystem::remove(roots_);
  write("topo", "topology\nid: 1\nsw-grp: island\nhca-grp: ALL\nend-topology\n");
  EXPECT_NE(refusal({"-F", conf_.c_str()}).find(roots_), std::string::npos);
}

TEST_F(ChainOptions, APathBitWithoutThatManyLidsIsWarnedOf) {
  const auto options = std::get<DaemonOptions>(read({"-F", conf_.c_str(), "-l", "0"}));
  ASSERT_FALSE(options.warnings.empty());
  EXPECT_EQ(options.warnings[0],
            steps_ + ":5: step 2 routes no host: with lmc 0 ports have no LID of path-bit 1");
}

}  // namespace
}  // namespace sm::daemon
