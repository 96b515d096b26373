// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Preloaded into ibsm by a test, between its store and the disk: a byte is appended to the file
// IBKIT_SYNCS for every fsync() and fdatasync() before it is passed on, and every pwrite() takes
// IBKIT_WRITE_US microseconds longer, as on a slow disk.
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

int sync_later(const char* name, int fd) {
  count();
  return reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, name))(fd);
}

ssize_t write_later(const char* name, int fd, const void* bytes, size_t size, off_t at) {
  static const char* const us = std::getenv("IBKIT_WRITE_US");
  if (us != nullptr) usleep(static_cast<useconds_t>(std::atoi(us)));
  using Write = ssize_t (*)(int, const void*, size_t, off_t);
  return reinterpret_cast<Write>(dlsym(RTLD_NEXT, name))(fd, bytes, size, at);
}

}  // namespace

extern "C" {
int fsync(int fd) { return sync_later("fsync", fd); }
int fdatasync(int fd) { return sync_later("fdatasync", fd); }
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) {
  return write_later("pwrite", fd, bytes, size, at);
}
ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t at) {
  return write_later("pwrite64", fd, bytes, size, at);
}
}
