// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/cli/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace ib::cli {

void tell_service_manager(std::string_view lines) {
  const char* named = std::getenv("NOTIFY_SOCKET");
  const std::string_view path = named != nullptr ? named : "";
  sockaddr_un to{};
  // A path, or @ and a name that is in no file system.
  if (path.size() < 2 || path.size() >= sizeof to.sun_path || (path[0] != '/' && path[0] != '@'))
    return;
  to.sun_family = AF_UNIX;
  std::ranges::copy(path, to.sun_path);
  if (to.sun_path[0] == '@') to.sun_path[0] = '\0';
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  (void)::sendto(fd, lines.data(), lines.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                 reinterpret_cast<const sockaddr*>(&to), bytes);
  ::close(fd);
}

}  // namespace ib::cli
