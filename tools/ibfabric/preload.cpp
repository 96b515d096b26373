// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// libibfabric-umad.so: gives a program an HCA in a simulated fabric. It supplies the whole public
// interface of libibumad, speaking to `ibfabric serve` instead of the kernel. Loaded by LD_PRELOAD
// into programs of any kind, so: no C++ library, no constructors, no threads. An umad "port id" is
// the descriptor of its bell, which is readable when there is a MAD, as with libibumad, so poll,
// select and epoll work on it; the server notices when its last copy is closed, so neither close()
// nor the death of the process needs care.
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/umad.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tools/ibfabric/library_end.h"
#include "tools/ibfabric/library_node.h"
#include "tools/ibfabric/library_talk.h"
#include "tools/ibfabric/outstanding.h"
#include "tools/ibfabric/protocol.h"

using namespace ibfabric;

namespace {

int debug_level = 0;

template <class... Args>
void warn(const char* function, const char* format, Args... args) {
  char text[512];
  snprintf(text, sizeof text, format, args...);
  fprintf(stderr, "ibwarn: [%d] %s: %s\n", static_cast<int>(getpid()), function, text);
}
#define DEBUG(...) \
  if (debug_level) warn(__func__, __VA_ARGS__)

// ---- what this process knows of its open ports ------------------------------------------------

constexpr int kDescriptorsMax = 65536;
constexpr size_t kMadBytes = 256;

struct OpenPort {
  uint64_t id;
  Bells bells;
  long bell_up_id;  // by which the kernel tells its eventfds apart
  int port_num;
  bool is_switch;
  bool long_messages;  // an agent has the kernel do RMPP
  uint32_t agents;     // bit per registered agent
  PortMemory* memory;
  Outstanding outstanding;
};

OpenPort* open_ports[kDescriptorsMax];

OpenPort* port_of(int fd) {
  if (fd < 0 || fd >= kDescriptorsMax) return nullptr;
  return __atomic_load_n(&open_ports[fd], __ATOMIC_ACQUIRE);
}

/// The kernel's number of an eventfd; -1: it is none.
long eventfd_id(int fd) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
  FILE* file = fopen(path, "re");
  if (file == nullptr) return -1;
  long id = -1;
  char line[128];
  while (id < 0 && fgets(line, sizeof line, file) != nullptr) sscanf(line, "eventfd-id: %ld", &id);
  fclose(file);
  return id;
}

/// Moves the bell up, which the program does not know of, to where programs have no files as a
/// rule: many close whatever they find from 3 upwards, and open others there.
int out_of_the_way(int fd) {
  constexpr rlim_t kFromHere = 512;
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return fd;
  const rlim_t from = limit.rlim_cur / 2 < kFromHere ? limit.rlim_cur / 2 : kFromHere;
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, static_cast<int>(from));
  if (moved < 0) return fd;
  close(fd);
  return moved;
}

/// Closes its bell up, unless the program has done so and the number is another file's by now.
void forget_port(int fd) {
  if (fd < 0 || fd >= kDescriptorsMax) return;
  OpenPort* port = __atomic_exchange_n(&open_ports[fd], nullptr, __ATOMIC_ACQ_REL);
  if (port == nullptr) return;
  if (eventfd_id(port->bells.up) == port->bell_up_id && port->bell_up_id >= 0)
    close(port->bells.up);
  unmap_port(port->memory);
  free(port);
}

bool remember_port(Bells bells, uint64_t id, int port_num, bool is_switch, PortMemory* memory) {
  const int fd = bells.down;
  if (fd >= kDescriptorsMax) return false;
  forget_port(fd);  // left behind by a plain close()
  // Not cleared by hand: only what is used of `outstanding` is to take memory.
  auto* port = static_cast<OpenPort*>(calloc(1, sizeof(OpenPort)));
  if (port == nullptr) return false;
  port->id = id;
  port->bells = bells;
  port->bell_up_id = eventfd_id(bells.up);
  port->port_num = port_num;
  port->is_switch = is_switch;
  port->memory = memory;
  __atomic_store_n(&open_ports[fd], port, __ATOMIC_RELEASE);
  return true;
}

uint16_t load16(const uint8_t* at) { return static_cast<uint16_t>(at[0] << 8 | at[1]); }
uint32_t load32(const uint8_t* at) { return uint32_t{load16(at)} << 16 | load16(at + 2); }

bool is_answer(const uint8_t* mad) { return (mad[3] & 0x80) != 0 || mad[3] == 0x07; }

uint32_t tid_of(const uint8_t* mad) { return load32(mad + 12); }  // the user's half

int wait_readable(int fd, int timeout_ms) {
  pollfd p = {fd, POLLIN, 0};
  const int n = poll(&p, 1, timeout_ms);
  if (n == 1) return 0;
  return n == 0 ? -ETIMEDOUT : -EIO;
}

int64_t now_ms() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000 + t.tv_nsec / 1'000'000;
}

int register_agent(int fd, Request& request) {
  OpenPort* port = port_of(fd);
  if (port == nullptr) {
    errno = EBADF;
    return -1;
  }
  request.port_id = port->id;
  Reply reply = {};
  if (!ask(request, nullptr, 0, &reply, sizeof reply)) return -1;
  if (reply.result < 0 || reply.result >= UMAD_CA_MAX_AGENTS) {
    errno = reply.result < 0 ? -reply.result : EIO;
    return -1;
  }
  if (request.rmpp_version != 0 && request.user_rmpp == 0) port->long_messages = true;
  __atomic_fetch_or(&port->agents, uint32_t{1} << reply.result, __ATOMIC_SEQ_CST);
  return reply.result;
}

}  // namespace

// ---- the library's interface -------------------------------------------------------------------

IBFABRIC_API int umad_init(void) { return 0; }
IBFABRIC_API int umad_done(void) { return 0; }

IBFABRIC_API int umad_open_port(const char* ca_name, int portnum) {
  Description d;
  if (const int error = resolve(ca_name, &portnum, &d); error < 0) {
    DEBUG("no port %d on the node at '%s': %s", portnum, getenv(kEnvAt) ? getenv(kEnvAt) : "",
          strerror(-error));
    return error;
  }
  const int connection = connect_to_server(SOCK_CLOEXEC);
  if (connection < 0) return -EIO;
  Request request = request_of(Op::OpenPort);
  request.port_num = portnum;
  Reply reply = {};
  PortFiles files = {-1, -1, -1};
  const bool opened = ask_on(connection, request, nullptr, 0, &reply, sizeof reply, &files);
  int error = opened ? -reply.result : errno;
  close(connection);
  if (error == 0 && files[kBellUp] < 0) error = EMFILE;
  PortMemory* memory = error == 0 ? map_port(files[kMemory]) : nullptr;
  if (error == 0 && memory == nullptr) error = errno;
  if (files[kMemory] >= 0) close(files[kMemory]);
  if (files[kBellUp] >= 0) files[kBellUp] = out_of_the_way(files[kBellUp]);
  const Bells bells = {files[kBellDown], files[kBellUp]};
  if (memory == nullptr ||
      !remember_port(bells, reply.port_id, portnum, d.node_type == 2, memory)) {
    if (memory != nullptr) unmap_port(memory);
    if (bells.down >= 0) close(bells.down);
    if (bells.up >= 0) close(bells.up);
    errno = error != 0 ? error : EMFILE;
    return -EIO;
  }
  fcntl(bells.down, F_SETFD, 0);  // libibumad's stays open after exec, too
  DEBUG("opened %s port %d as fd %d", kDeviceName, portnum, bells.down);
  return bells.down;
}

IBFABRIC_API int umad_close_port(int portid) {
  forget_port(portid);
  close(portid);
  return 0;
}

IBFABRIC_API void* umad_get_mad(void* umad) { return static_cast<ib_user_mad*>(umad)->data; }
IBFABRIC_API size_t umad_size(void) { return sizeof(ib_user_mad); }
IBFABRIC_API int umad_status(void* umad) {
  return static_cast<int>(static_cast<ib_user_mad*>(umad)->status);
}
IBFABRIC_API ib_mad_addr_t* umad_get_mad_addr(void* umad) {
  return &static_cast<ib_user_mad*>(umad)->addr;
}

IBFABRIC_API int umad_set_grh(void* umad, void* mad_addr) {
  ib_mad_addr_t& to = static_cast<ib_user_mad*>(umad)->addr;
  to.grh_present = mad_addr != nullptr;
  if (mad_addr == nullptr) return 0;
  const auto* from = static_cast<const ib_mad_addr_t*>(mad_addr);
  memcpy(to.gid, from->gid, sizeof to.gid);
  to.flow_label = htonl(from->flow_label);
  to.hop_limit = from->hop_limit;
  to.traffic_class = from->traffic_class;
  return 0;
}

IBFABRIC_API int umad_set_pkey(void* umad, int pkey_index) {
  static_cast<ib_user_mad*>(umad)->addr.pkey_index = static_cast<uint16_t>(pkey_index);
  return 0;
}
IBFABRIC_API int umad_get_pkey(void* umad) {
  return static_cast<ib_user_mad*>(umad)->addr.pkey_index;
}

IBFABRIC_API int umad_set_addr_net(void* umad, __be16 dlid, __be32 dqp, int sl, __be32 qkey) {
  ib_mad_addr_t& to = static_cast<ib_user_mad*>(umad)->addr;
  to.qpn = dqp;
  to.lid = dlid;
  to.qkey = qkey;
  to.sl = static_cast<uint8_t>(sl);
  return 0;
}
IBFABRIC_API int umad_set_addr(void* umad, int dlid, int dqp, int sl, int qkey) {
  return umad_set_addr_net(umad, htons(static_cast<uint16_t>(dlid)),
                           htonl(static_cast<uint32_t>(dqp)), sl,
                           htonl(static_cast<uint32_t>(qkey)));
}

IBFABRIC_API void umad_addr_dump(ib_mad_addr_t* addr) {
  char gid[33];
  for (size_t i = 0; i < 16; ++i) snprintf(&gid[2 * i], 3, "%02x", addr->gid[i]);
  warn(__func__,
       "qpn %u qkey 0x%x lid %u sl %d\ngrh_present %d gid_index %d hop_limit %d traffic_class %d "
       "flow_label 0x%x pkey_index 0x%x\nGid 0x%s",
       ntohl(addr->qpn), ntohl(addr->qkey), ntohs(addr->lid), addr->sl, addr->grh_present,
       addr->gid_index, addr->hop_limit, addr->traffic_class, addr->flow_label, addr->pkey_index,
       gid);
}
IBFABRIC_API void umad_dump(void* umad) {
  auto* mad = static_cast<ib_user_mad*>(umad);
  warn(__func__, "agent id %d status %x timeout %d", mad->agent_id, mad->status, mad->timeout_ms);
  umad_addr_dump(&mad->addr);
}
IBFABRIC_API int umad_debug(int level) {
  if (level >= 0) debug_level = level;
  return debug_level;
}

IBFABRIC_API int umad_send(int portid, int agentid, void* umad, int length, int timeout_ms,
                           int retries) {
  auto* mad = static_cast<ib_user_mad*>(umad);
  errno = 0;
  if (mad == nullptr) {
    errno = EINVAL;
    return -EINVAL;
  }
  mad->timeout_ms = static_cast<uint32_t>(timeout_ms);
  mad->retries = static_cast<uint32_t>(retries);
  mad->agent_id = static_cast<uint32_t>(agentid);
  if (debug_level > 1) umad_dump(mad);

  OpenPort* port = port_of(portid);
  if (port == nullptr) {
    errno = EBADF;
    return -EIO;
  }
  if (agentid < 0 || agentid >= UMAD_CA_MAX_AGENTS || length < 36 ||
      (__atomic_load_n(&port->agents, __ATOMIC_RELAXED) >> agentid & 1U) == 0 ||
      (length > static_cast<int>(kMadBytes) && !port->long_messages)) {
    errno = EINVAL;
    return -EIO;
  }
  const auto size = static_cast<size_t>(length);
  ib_user_mad header = *mad;
  header.length = static_cast<uint32_t>(kUmadHeaderBytes + size);

  // The kernel may refuse a second request under one TID, and a directed route that does not start
  // at this port. Only what looks like one of these waits for the server's verdict.
  const uint8_t* bytes = mad->data;
  const bool tracked = timeout_ms != 0 && !is_answer(bytes);
  const bool odd_route = bytes[1] == 0x81 && length >= 192 && !port->is_switch &&
                         (bytes[4] & 0x80) == 0 &&
                         (bytes[6] != 0 || (bytes[7] != 0 && bytes[129] != port->port_num));
  const bool doubtful = !is_answer(bytes) && port->outstanding.may_have(bytes[1], tid_of(bytes));
  // Before it is sent: the answer may come to another thread at once.
  if (tracked) port->outstanding.add(bytes[1], tid_of(bytes));
  if ((doubtful || odd_route) && size <= kMadBytes) {
    Request request = request_of(Op::Send);
    request.port_id = port->id;
    uint8_t frame[kUmadHeaderBytes + kMadBytes];
    memcpy(frame, &header, kUmadHeaderBytes);
    memcpy(frame + kUmadHeaderBytes, bytes, size);
    Reply reply = {};
    const bool asked = ask(request, frame, kUmadHeaderBytes + size, &reply, sizeof reply);
    if (asked && reply.result >= 0) return 0;
    if (asked) errno = -reply.result;
    if (tracked) port->outstanding.remove(bytes[1], tid_of(bytes));
    return -EIO;
  }
  if (write_message(*port->memory, port->bells, &header, bytes, size)) return 0;
  if (!errno) errno = EIO;
  return -EIO;
}

IBFABRIC_API int umad_recv(int portid, void* umad, int* length, int timeout_ms) {
  auto* mad = static_cast<ib_user_mad*>(umad);
  errno = 0;
  if (mad == nullptr || length == nullptr) {
    errno = EINVAL;
    return -EINVAL;
  }
  OpenPort* port = port_of(portid);
  const bool awaited = port != nullptr && timeout_ms != 0 && !has_message(*port->memory);
  const int64_t until = awaited && timeout_ms > 0 ? now_ms() + timeout_ms : 0;
  ssize_t n;
  do {
    const uint64_t read_before = awaited ? slots_read(*port->memory) : 0;
    if (awaited) {
      if (const int waited = wait_readable(portid, timeout_ms); waited < 0) {
        if (!errno) errno = -waited;
        return waited;
      }
      port = port_of(portid);  // another thread may have closed it meanwhile
    }
    if (port == nullptr) {
      errno = EBADF;
      return -EBADF;
    }
    n = read_message(*port->memory, port->bells, umad, umad_size() + static_cast<size_t>(*length),
                     awaited);
    // Nobody was quicker, so the bell was for nothing, which Linux does not know.
    if (n > 0 || !awaited || errno != EAGAIN || slots_read(*port->memory) != read_before) break;
    errno = 0;
    if (timeout_ms > 0) timeout_ms = until > now_ms() ? static_cast<int>(until - now_ms()) : 0;
  } while (true);
  if (n > 0) {
    const auto header = static_cast<ssize_t>(kUmadHeaderBytes);
    *length = n > header ? static_cast<int>(n - header) : 0;
    if (*length >= 24 && (mad->status != 0 || is_answer(mad->data))) {
      port->outstanding.remove(mad->data[1], tid_of(mad->data));
    }
    return static_cast<int>(mad->agent_id);
  }
  if (errno == ENOSPC) *length = static_cast<int>(mad->length) - static_cast<int>(kUmadHeaderBytes);
  return -errno;
}

IBFABRIC_API int umad_poll(int portid, int timeout_ms) {
  errno = 0;
  const OpenPort* port = port_of(portid);
  if (port != nullptr && has_message(*port->memory)) return 0;
  return wait_readable(portid, timeout_ms);
}
IBFABRIC_API int umad_get_fd(int portid) { return portid; }

IBFABRIC_API int umad_register_oui(int portid, int mgmt_class, uint8_t rmpp_version, uint8_t oui[3],
                                   long method_mask[16 / sizeof(long)]) {
  if (mgmt_class < 0x30 || mgmt_class > 0x4f) return -EINVAL;
  Request request = request_of(Op::Register);
  request.qpn = 1;
  request.mgmt_class = static_cast<uint8_t>(mgmt_class);
  request.class_version = 1;
  request.rmpp_version = rmpp_version;
  request.oui = static_cast<uint32_t>(oui[0] << 16 | oui[1] << 8 | oui[2]);
  if (method_mask != nullptr) memcpy(request.method_mask, method_mask, sizeof request.method_mask);
  const int agent = register_agent(portid, request);
  return agent >= 0 ? agent : -EPERM;
}

IBFABRIC_API int umad_register(int portid, int mgmt_class, int mgmt_version, uint8_t rmpp_version,
                               long method_mask[16 / sizeof(long)]) {
  Request request = request_of(Op::Register);
  request.qpn = mgmt_class == 0x01 || mgmt_class == 0x81 ? 0 : 1;
  request.mgmt_class = static_cast<uint8_t>(mgmt_class);
  request.class_version = static_cast<uint8_t>(mgmt_version);
  request.rmpp_version = rmpp_version;
  request.oui = 0x001405;
  if (method_mask != nullptr) memcpy(request.method_mask, method_mask, sizeof request.method_mask);
  const int agent = register_agent(portid, request);
  return agent >= 0 ? agent : -EPERM;
}

IBFABRIC_API int umad_register2(int port_fd, umad_reg_attr* attr, uint32_t* agent_id) {
  if (attr == nullptr || agent_id == nullptr) return EINVAL;
  if (attr->mgmt_class >= 0x30 && attr->mgmt_class <= 0x4f &&
      ((attr->oui & 0x00ffffff) == 0 || (attr->oui & 0xff000000) != 0)) {
    return EINVAL;
  }
  if ((attr->flags & ~static_cast<uint32_t>(UMAD_USER_RMPP)) != 0) {
    attr->flags = UMAD_USER_RMPP;  // what this kernel knows
    return EINVAL;
  }
  Request request = request_of(Op::Register);
  request.qpn = attr->mgmt_class == 0x01 || attr->mgmt_class == 0x81 ? 0 : 1;
  request.mgmt_class = attr->mgmt_class;
  request.class_version = attr->mgmt_class_version;
  request.rmpp_version = attr->rmpp_version;
  request.user_rmpp = (attr->flags & UMAD_USER_RMPP) != 0;
  request.oui = attr->oui;
  memcpy(request.method_mask, attr->method_mask, sizeof request.method_mask);
  const int agent = register_agent(port_fd, request);
  if (agent < 0) return errno;
  *agent_id = static_cast<uint32_t>(agent);
  return 0;
}

IBFABRIC_API int umad_unregister(int portid, int agentid) {
  OpenPort* port = port_of(portid);
  if (port == nullptr) {
    errno = EBADF;
    return -1;
  }
  Request request = request_of(Op::Unregister);
  request.port_id = port->id;
  request.agent = agentid;
  Reply reply = {};
  if (!ask(request, nullptr, 0, &reply, sizeof reply)) return -1;
  if (reply.result < 0) {
    errno = -reply.result;
    return -1;
  }
  __atomic_fetch_and(&port->agents, ~(uint32_t{1} << agentid), __ATOMIC_SEQ_CST);
  return 0;
}

/// Of the vendor's libibumad: MADs that may wait to be read; what comes beyond is dropped.
IBFABRIC_API int umad_update_threshold(int fd, int threshold) {
  const OpenPort* port = port_of(fd);
  if (port == nullptr || threshold < 0) {
    errno = port == nullptr ? EBADF : EINVAL;
    return -1;
  }
  Request request = request_of(Op::Threshold);
  request.port_id = port->id;
  request.port_num = threshold;
  Reply reply = {};
  if (!ask(request, nullptr, 0, &reply, sizeof reply)) return -1;
  if (reply.result < 0) errno = -reply.result;
  return reply.result < 0 ? -1 : 0;
}
