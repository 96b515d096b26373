// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// TableReader: reads the forwarding tables of all switches of a sweep, block by block, many
// requests in flight. A machine: no I/O, no clock. A block that cannot be read leaves its entries
// empty and a line in errors(), never those of another switch.
#pragma once

#include <string>
#include <vector>

#include "libdiag/discover/observed.h"
#include "libdiag/mad/session.h"
#include "libdiag/tables/dump.h"

namespace ib::tools {

struct TableReaderOptions {
  bool unicast{true};
  bool multicast{false};
  Lid first{}, last{};  // only these LIDs (or MLIDs); 0: from the beginning, to the top, inclusive
  std::uint64_t m_key{0};
  fabric::NodeIndex only{fabric::kNoNode};  // this switch alone
};

class TableReader final : public mad::Exchange {
 public:
  /// `observed` must outlive the reader.
  TableReader(const discover::Observed& observed, const TableReaderOptions& options);

  std::vector<mad::Request> take_requests() override;
  void on_completion(Instant now, const mad::Completion& completion) override;
  bool done() const override { return next_ == jobs_.size() && under_way_ == 0; }

  /// One entry a switch, in the order of the sweep.
  std::vector<tables::SwitchTables> take_tables() { return std::move(tables_); }
  const std::vector<std::string>& errors() const { return errors_; }
  std::size_t blocks() const { return jobs_.size(); }

 private:
  struct Job {
    std::uint32_t table;  // index into tables_ and nodes_
    bool multicast;
    std::uint32_t modifier;  // block, and for MFTs the position in the top four bits
  };
  void plan_unicast(std::uint32_t table, const wire::SwitchInfo& info);
  void plan_multicast(std::uint32_t table, const wire::SwitchInfo& info);
  void store(const Job& job, const wire::Mad& mad);

  const discover::Observed& observed_;
  TableReaderOptions options_;
  std::vector<tables::SwitchTables> tables_;
  std::vector<fabric::NodeIndex> nodes_;
  std::vector<Job> jobs_;
  std::size_t next_{0}, under_way_{0};
  std::vector<std::string> errors_;
};

}  // namespace ib::tools
