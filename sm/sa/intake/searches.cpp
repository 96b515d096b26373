// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/sa/intake/searches.h"

#include <algorithm>

namespace sm::sa {

std::size_t Searches::size_of(ib::Lid who) const {
  return static_cast<std::size_t>(std::ranges::count(searches_, who, &Search::who));
}

std::optional<Searches::Search> Searches::step() {
  if (searches_.empty()) return std::nullopt;
  Search search = std::move(searches_.front());
  searches_.pop_front();
  if (continue_search(search, kCandidatesPerStep)) return search;
  searches_.push_back(std::move(search));
  return std::nullopt;
}

bool continue_search(Searches::Search& search, std::size_t candidates) {
  RecordSource& source = *search.source;
  while (search.found.size() < search.bytes_max) {
    const auto before = search.found.size();
    search.found.resize(before + source.record_bytes());
    const auto what = source.next_among(search.found.data() + before, candidates);
    if (what == RecordSource::Found::Record) continue;
    search.found.resize(before);
    search.at_end = what == RecordSource::Found::Nothing;
    return search.at_end;
  }
  return true;
}

}  // namespace sm::sa
