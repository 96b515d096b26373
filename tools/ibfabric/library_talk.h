// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The library's questions to the server, each on a connection of its own. No C++ library.
#pragma once

#include <sys/types.h>

#include "tools/ibfabric/protocol.h"

#define IBFABRIC_API extern "C" __attribute__((visibility("default")))

namespace ibfabric {

/// The descriptors of an open port (kPortFiles).
using PortFiles = int[kPortFiles];

/// A connection to the server that the environment names; -1 with errno.
int connect_to_server(int extra_flags);

/// A request of the program that sits where the environment says.
Request request_of(Op op);

/// Sends `request` and then `more`, receives `reply`. False, with errno set, when that did not
/// work.
bool ask_on(int fd, const Request& request, const void* more, size_t more_size, void* reply,
            size_t reply_size, PortFiles* files = nullptr);

/// Whether a node can be so as it is described: a program goes through its ports and their P_Keys.
bool is_sound(const Description& node);

/// One question on a connection of its own: safe in any thread and after any fork.
bool ask(const Request& request, const void* more, size_t more_size, void* reply,
         size_t reply_size);

}  // namespace ibfabric
