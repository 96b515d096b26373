// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Queries whose records are still being looked for. A search goes on in short steps, so that a
// question whose answer is "nothing" a hundred thousand times over holds up nobody: between two
// steps other requests are served. A machine.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "libdiag/mad/transport.h"
#include "sm/sa/records/record_source.h"

namespace sm::sa {

/// Candidates that one step looks at: some 10 us, what a Get costs.
inline constexpr std::size_t kCandidatesPerStep = 64;

class Searches {
 public:
  struct Search {
    ib::mad::Packet request;
    ib::Lid who;  // the requester, by its first LID
    std::unique_ptr<RecordSource> source;
    std::size_t bytes_max{};       // enough when so much was found
    std::vector<std::byte> found;  // whole records
    bool at_end{false};            // there are no more
  };

  void begin(Search search) { searches_.push_back(std::move(search)); }
  bool empty() const { return searches_.empty(); }
  std::size_t size() const { return searches_.size(); }
  std::size_t size_of(ib::Lid who) const;

  /// One step of the search whose turn it is; given back when it is done.
  std::optional<Search> step();

 private:
  std::deque<Search> searches_;  // whose turn it is in front
};

/// Looks at `candidates` at most; true when the search is done.
bool continue_search(Searches::Search& search, std::size_t candidates);

}  // namespace sm::sa
