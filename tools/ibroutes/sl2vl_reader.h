// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Reads the SL2VL tables of switches and CAs with many requests in flight.
#pragma once

#include <string>
#include <vector>

#include "libdiag/discover/observed.h"
#include "libdiag/mad/session.h"
#include "libdiag/tables/virtual_lanes.h"

namespace ib::tools {

class Sl2VlReader final : public mad::Exchange {
 public:
  /// `observed` must outlive the reader.
  Sl2VlReader(const discover::Observed& observed, std::uint64_t m_key);

  std::vector<mad::Request> take_requests() override;
  void on_completion(Instant now, const mad::Completion& completion) override;
  bool done() const override { return next_ == jobs_.size() && under_way_ == 0; }

  /// What was read; ports of one data VL, which need have no table, are on VL 0. CAs that map SLs
  /// otherwise than the first are among the errors.
  tables::SlToVl tables(const fabric::CompactGraph& graph);
  const std::vector<std::string>& errors() const { return errors_; }

 private:
  struct Job {
    fabric::NodeIndex node;
    std::uint8_t in, out;
    tables::SlToVlRow row;
    bool known;
  };
  const discover::Observed& observed_;
  std::uint64_t m_key_;
  std::vector<Job> jobs_;
  std::size_t next_{0}, under_way_{0};
  std::vector<std::string> errors_;
};

}  // namespace ib::tools
