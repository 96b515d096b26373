// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/mapped_files.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <span>

namespace sm::daemon {
namespace {

/// The loader says addresses as numbers.
template <typename T>
T* at(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// Code that the loader had to change is not in the file as it is in memory.
bool has_text_relocations(const dl_phdr_info& object, const ElfW(Phdr) & dynamic) {
  const auto* entry = at<const ElfW(Dyn)>(object.dlpi_addr + dynamic.p_vaddr);
  for (; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_TEXTREL) return true;
    if (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL) != 0) return true;
  }
  return false;
}

int unmap_object(dl_phdr_info* object, std::size_t, void*) {
  const std::span headers(object->dlpi_phdr, object->dlpi_phnum);
  for (const ElfW(Phdr) & header : headers)
    if (header.p_type == PT_DYNAMIC && has_text_relocations(*object, header)) return 0;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (const ElfW(Phdr) & header : headers) {
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) != 0) continue;
    const std::uintptr_t start = (object->dlpi_addr + header.p_vaddr) & ~(page - 1);
    const std::uintptr_t end = object->dlpi_addr + header.p_vaddr + header.p_filesz;
    // The kernel's own page (vdso) refuses, which is no matter.
    madvise(at<void>(start), end - start, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void unmap_idle_code() { dl_iterate_phdr(unmap_object, nullptr); }

}  // namespace sm::daemon
