// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibfabric/library_talk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace ibfabric {

int connect_to_server(int extra_flags) {
  const char* path = getenv(kEnvSocket);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path == nullptr || strlen(path) >= sizeof address.sun_path) {
    errno = ENODEV;
    return -1;
  }
  memcpy(address.sun_path, path, strlen(path) + 1);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | extra_flags, 0);
  if (fd < 0) return -1;
  int result;
  do {
    result = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  } while (result < 0 && errno == EINTR);
  if (result < 0) {
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
  }
  return fd;
}

Request request_of(Op op) {
  Request request = {};
  request.protocol = kProtocol;
  request.op = op;
  const char* at = getenv(kEnvAt);
  if (at != nullptr) snprintf(request.at, sizeof request.at, "%s", at);
  return request;
}

namespace {

/// A reply, and the descriptors that come with it, if they are expected: -1 if none came.
ssize_t receive_reply(int fd, void* reply, size_t size, PortFiles* files) {
  iovec part = {reply, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof *files)] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (files != nullptr) {
    for (int& file : *files) file = -1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
  ssize_t n;
  do {
    n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  const cmsghdr* rights = n > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  // Fewer come when the program may open no more.
  if (files != nullptr && rights != nullptr && rights->cmsg_type == SCM_RIGHTS) {
    const size_t given = rights->cmsg_len - CMSG_LEN(0);
    memcpy(*files, CMSG_DATA(rights), given < sizeof *files ? given : sizeof *files);
  }
  return n;
}

}  // namespace

bool ask_on(int fd, const Request& request, const void* more, size_t more_size, void* reply,
            size_t reply_size, PortFiles* files) {
  iovec parts[2] = {{const_cast<Request*>(&request), sizeof request},
                    {const_cast<void*>(more), more_size}};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = more_size > 0 ? 2 : 1;
  ssize_t n;
  do {
    n = sendmsg(fd, &message, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return false;
  n = receive_reply(fd, reply, reply_size, files);
  if (n >= static_cast<ssize_t>(sizeof(Reply)) &&
      static_cast<Reply*>(reply)->protocol == kProtocol) {
    return true;
  }
  if (n >= 0) errno = EIO;
  return false;
}

bool is_sound(const Description& node) {
  if (node.num_ports < 0 || node.num_ports >= static_cast<int>(kPortsMax)) return false;
  for (const PortDescription& port : node.ports)
    if (port.p_key_count > kPKeysMax) return false;
  return true;
}

bool ask(const Request& request, const void* more, size_t more_size, void* reply,
         size_t reply_size) {
  const int fd = connect_to_server(SOCK_CLOEXEC);
  if (fd < 0) return false;
  const bool good = ask_on(fd, request, more, more_size, reply, reply_size);
  const int error = errno;
  close(fd);
  errno = error;
  return good;
}

}  // namespace ibfabric
