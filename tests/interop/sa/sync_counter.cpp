// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Preloaded into ibsm by a test: a byte is appended to the file IBKIT_SYNCS for every fsync() and
// fdatasync() before it is passed on.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace {

void count() {
  const char* path = std::getenv("IBKIT_SYNCS");
  if (path == nullptr) return;
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (write(fd, "s", 1) != 1) std::abort();
  close(fd);
}

int pass_on(const char* name, int fd) {
  count();
  return reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, name))(fd);
}

}  // namespace

extern "C" int fsync(int fd) { return pass_on("fsync", fd); }
extern "C" int fdatasync(int fd) { return pass_on("fdatasync", fd); }
