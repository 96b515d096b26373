// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/tables/tables.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <unordered_map>

#include "libdiag/base/parallel.h"

namespace ib::tables {
namespace {

constexpr std::size_t kHugePage = std::size_t{1} << 21;

std::align_val_t alignment(std::size_t bytes) {
  return std::align_val_t{bytes >= kHugePage ? kHugePage : alignof(std::max_align_t)};
}

}  // namespace

void* allocate_table(std::size_t bytes) {
  void* table = ::operator new(bytes, alignment(bytes));
  // Advice only: whatever becomes of it, the memory is there. Why: doc/ibsm.md, Memory.
  if (bytes >= kHugePage) (void)::madvise(table, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return table;
}

void free_table(void* table, std::size_t bytes) { ::operator delete(table, alignment(bytes)); }

LinearTables::Ports::iterator LinearTables::start_of(std::size_t row) {
  return ports_.begin() + static_cast<std::ptrdiff_t>(row * lids_);
}

void LinearTables::erase_rows(std::span<const fabric::SwitchIndex> rows) {
  if (rows.empty()) return;
  auto end = start_of(rows.front());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto next = i + 1 < rows.size() ? start_of(rows[i + 1]) : ports_.end();
    end = std::copy(start_of(rows[i] + std::size_t{1}), next, end);
  }
  ports_.erase(end, ports_.end());
}

void LinearTables::insert_rows(std::span<const fabric::SwitchIndex> rows) {
  std::size_t end = switch_count();  // of the rows that are still where they were
  ports_.resize((end + rows.size()) * lids_);
  for (std::size_t i = rows.size(); i-- > 0;) {
    const std::size_t first = rows[i] - i;
    std::copy_backward(start_of(first), start_of(end), start_of(end + i + 1));
    std::fill_n(start_of(rows[i]), lids_, kNoPort);
    end = first;
  }
}

LinearTables carried_over(const LinearTables& tables, const fabric::CompactGraph& from,
                          const fabric::CompactGraph& to) {
  std::unordered_map<Guid, fabric::SwitchIndex> old;
  for (fabric::SwitchIndex s = 0; s < from.switch_count(); ++s) old.emplace(from.guid(s), s);
  auto carried = LinearTables::unwritten(to.switch_count(), to.max_lid());
  const auto switches = static_cast<fabric::SwitchIndex>(to.switch_count());
  parallel_for(fabric::SwitchIndex{0}, switches, [&](fabric::SwitchIndex s) {
    const auto at = old.find(to.guid(s));
    const auto target = carried.row(s);
    std::size_t known = 0;
    if (at != old.end() && at->second < tables.switch_count()) {
      const auto row = tables.row(at->second);
      known = std::min(row.size(), target.size());
      std::copy_n(row.begin(), known, target.begin());
    }
    std::ranges::fill(target.subspan(known), kNoPort);
  });
  return carried;
}

}  // namespace ib::tables
