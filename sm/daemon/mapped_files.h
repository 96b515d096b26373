// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a process that waits need not hold of its program and libraries.
#pragma once

namespace sm::daemon {

/// Unmaps the pages of code and constants of this program and its libraries, which stay in the
/// system's cache of files: whatever is needed again is mapped again at the first touch, 64 KB at a
/// time, a microsecond each. What the loader or the program has written is not touched (but a
/// debugger's breakpoints are).
/// (madvise(2), MADV_DONTNEED of private file mappings.)
void unmap_idle_code();

}  // namespace sm::daemon
