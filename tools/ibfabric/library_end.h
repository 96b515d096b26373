// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The library's end of an open port: what read() and write() of a umad file are to a program. Any
// number of threads, and of processes after a fork, may call these for one port. No C++ library.
#pragma once

#include <sys/types.h>

#include "tools/ibfabric/ring.h"

namespace ibfabric {

/// The descriptors of a port's bells, as the program has them.
struct Bells {
  int down;  // readable when there is a MAD; its end is the server's
  int up;
};

/// Maps what the server sent and sets up the locks in it. nullptr with errno.
PortMemory* map_port(int memory_fd);
void unmap_port(PortMemory* memory);

/// Whether there is something to read. No system call.
bool has_message(PortMemory& memory);
/// How many slots all its readers have read so far.
uint64_t slots_read(PortMemory& memory);

/// Takes the next message: struct ib_user_mad and its data. Bytes, or -1 with errno: EAGAIN,
/// ENOSPC (a message longer than a MAD stays, its beginning is shown), EINVAL (a MAD stays), EIO
/// (the server is gone). A message that is still coming is waited for. `awaited`: the bell was
/// readable just now. Otherwise EIO may be told one call late, to spare a system call.
ssize_t read_message(PortMemory& memory, Bells bells, void* buffer, size_t size, bool awaited);

/// Hands over `header` with its `length` set and the data, waiting while the server is behind:
/// Linux never refuses a MAD for that. False with errno.
bool write_message(PortMemory& memory, Bells bells, const void* header, const void* data,
                   size_t size);

}  // namespace ibfabric
