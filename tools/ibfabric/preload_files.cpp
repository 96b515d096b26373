// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Files that a program opens by their path and that are the simulated port's: issm, and the limits
// of MAD congestion control in sysfs.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/ibfabric/library_talk.h"

using namespace ibfabric;

namespace {

int open_issm(int number, int flags) {
  const int fd = connect_to_server((flags & O_CLOEXEC) != 0 ? SOCK_CLOEXEC : 0);
  if (fd < 0) return -1;
  Request request = request_of(Op::OpenIssm);
  request.port_num = number;
  if ((flags & O_NONBLOCK) != 0) request.flags |= kNonBlock;
  Reply reply = {};
  // A signal may end the wait for another opener, as it does in the kernel.
  if (send(fd, &request, sizeof request, MSG_NOSIGNAL) < 0 ||
      recv(fd, &reply, sizeof reply, 0) != sizeof reply || reply.result < 0) {
    const int error = reply.result < 0 ? -reply.result : errno;
    close(fd);
    errno = error;
    return -1;
  }
  return fd;
}

/// The number of an issm path, or -1 for every other path.
int issm_number(const char* path) {
  const size_t prefix = sizeof kIssmPath - 1;
  if (path == nullptr || strncmp(path, kIssmPath, prefix) != 0) return -1;
  const char* digits = path + prefix;
  if (*digits < '0' || *digits > '9' || strlen(digits) > 4) return -1;
  for (const char* p = digits; *p != 0; ++p) {
    if (*p < '0' || *p > '9') return -1;
  }
  return atoi(digits);
}

/// The number of the file in kLimitNames and the port of its path; false for every other path.
bool is_limit(const char* path, Request* request) {
  const size_t prefix = sizeof kLimitsPath - 1;
  if (path == nullptr || strncmp(path, kLimitsPath, prefix) != 0) return false;
  char* end = nullptr;
  const long port = strtol(path + prefix, &end, 10);
  if (end == path + prefix || *end != '/' || port < 0 || port > 255) return false;
  for (int32_t i = 0; i <= kDrops; ++i) {
    if (strcmp(end + 1, kLimitNames[i]) != 0) continue;
    request->port_num = static_cast<int32_t>(port);
    request->agent = i;
    return true;
  }
  return false;
}

/// To be read it is a file of memory with the present value, and to be written a connection, since
/// what is written has to reach the server.
int open_limit(Request request, int flags) {
  const bool reads = (flags & O_ACCMODE) == O_RDONLY;
  const int cloexec = (flags & O_CLOEXEC) != 0 ? SOCK_CLOEXEC : 0;
  Request full = request_of(reads ? Op::ReadLimit : Op::WriteLimit);
  full.port_num = request.port_num;
  full.agent = request.agent;
  const int server = connect_to_server(cloexec);
  if (server < 0) return -1;
  Reply reply = {};
  const bool asked = ask_on(server, full, nullptr, 0, &reply, sizeof reply);
  if (!asked || reply.result < 0) {
    const int error = asked ? -reply.result : errno;
    close(server);
    errno = error;
    return -1;
  }
  if (!reads) return server;
  close(server);
  const int fd = memfd_create("mad_sa_cc", cloexec != 0 ? MFD_CLOEXEC : 0);
  if (fd >= 0) {
    dprintf(fd, "%llu\n", static_cast<unsigned long long>(reply.port_id));
    lseek(fd, 0, SEEK_SET);
  }
  return fd;
}

/// Opens `path` if it is one that is ours.
bool open_ours(const char* path, int flags, int* fd) {
  Request limit = {};
  if (const int number = issm_number(path); number >= 0) {
    *fd = open_issm(number, flags);
  } else if (is_limit(path, &limit)) {
    *fd = open_limit(limit, flags);
  } else {
    return false;
  }
  return true;
}

using OpenFunction = int (*)(const char*, int, ...);
using OpenAtFunction = int (*)(int, const char*, int, ...);

int real_open(const char* symbol, const char* path, int flags, mode_t mode) {
  auto* next = reinterpret_cast<OpenFunction>(dlsym(RTLD_NEXT, symbol));
  if (next != nullptr) return next(path, flags, mode);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

}  // namespace

#define IBFABRIC_OPEN(name)                                   \
  IBFABRIC_API int name(const char* path, int flags, ...) {   \
    va_list list;                                             \
    va_start(list, flags);                                    \
    const auto mode = static_cast<mode_t>(va_arg(list, int)); \
    va_end(list);                                             \
    int fd;                                                   \
    if (open_ours(path, flags, &fd)) return fd;               \
    return real_open(#name, path, flags, mode);               \
  }
IBFABRIC_OPEN(open)
IBFABRIC_OPEN(open64)

#define IBFABRIC_OPENAT(name)                                                   \
  IBFABRIC_API int name(int directory, const char* path, int flags, ...) {      \
    va_list list;                                                               \
    va_start(list, flags);                                                      \
    const auto mode = static_cast<mode_t>(va_arg(list, int));                   \
    va_end(list);                                                               \
    int fd;                                                                     \
    if (open_ours(path, flags, &fd)) return fd;                                 \
    auto* next = reinterpret_cast<OpenAtFunction>(dlsym(RTLD_NEXT, #name));     \
    if (next != nullptr) return next(directory, path, flags, mode);             \
    return static_cast<int>(syscall(SYS_openat, directory, path, flags, mode)); \
  }
IBFABRIC_OPENAT(openat)
IBFABRIC_OPENAT(openat64)

// What <fcntl.h> turns open() into in fortified programs.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the C library's name.
IBFABRIC_API int __open_2(const char* path, int flags) { return open(path, flags, 0); }
// NOLINTNEXTLINE(bugprone-reserved-identifier)
IBFABRIC_API int __open64_2(const char* path, int flags) { return open64(path, flags, 0); }
