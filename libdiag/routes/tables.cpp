// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/routes/tables.h"

#include <sys/mman.h>

#include <cstddef>

namespace ib::routes {
namespace {

constexpr std::size_t kHugePage = std::size_t{1} << 21;

std::align_val_t alignment(std::size_t bytes) {
  return std::align_val_t{bytes >= kHugePage ? kHugePage : alignof(std::max_align_t)};
}

}  // namespace

void* allocate_table(std::size_t bytes) {
  void* table = ::operator new(bytes, alignment(bytes));
  // Advice only: whatever becomes of it, the memory is there.
  if (bytes >= kHugePage) (void)::madvise(table, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return table;
}

void free_table(void* table, std::size_t bytes) { ::operator delete(table, alignment(bytes)); }

}  // namespace ib::routes
