// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The Server's inside: who is connected, and what falls due when. server.cpp has the loop, its
// time, connections and MADs; server_requests.cpp answers what comes by sockets. Inside
// tools/ibfabric only.
#pragma once

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libdiag/sim/kernel.h"
#include "tools/ibfabric/listening_socket.h"
#include "tools/ibfabric/protocol.h"
#include "tools/ibfabric/server.h"
#include "tools/ibfabric/server_end.h"

namespace ibfabric {

using ib::Instant;
using ib::Result;
using ib::sim::FileId;
using ib::sim::HostKernel;
using ib::sim::IssmId;
using ib::sim::Model;
using ib::sim::PortRef;
using ib::sim::UserMad;

struct Host;

struct Connection {
  enum class Kind { New, Port, Issm, Limit, Text, Closed };
  int fd{-1};  // Port: of its bell
  Kind kind{Kind::New};
  Host* host{};
  std::uint64_t id{};
  pid_t pid{};  // Port: who opened it
  FileId file{};
  IssmId issm{};
  std::int32_t limit{};  // Limit: which file (kLimitNames)
  bool issm_told{false};
  bool wants_write{false};
  std::unique_ptr<ServerEnd> end;  // Port
  bool heard{false};               // Port: in Impl::heard
  bool gone{false};                // Port: nobody has it open any more
  unsigned silent_rounds{0};       // Port: it was heard, and said nothing, so many times in a row
  Instant rests_until{};           // Port: it said little
  bool behind{false};              // Port: its ring had no room
  bool spoilt{false};              // Port: so is its ring
  std::string text;                // Text: what is left to be written
};

struct Host {
  Host(Model& model, PortRef where) : port(where), attachment(model, where), kernel(attachment) {}
  PortRef port;
  ib::sim::ModelAttachment attachment;
  HostKernel kernel;
  std::vector<Connection*> connections;
  Instant due{ib::kNever};  // when it has its turn; it may be called too early, but not too late
  bool touched{false};
};

struct Server::Impl {
  Impl(Model& m, Command c);
  ~Impl();

  Model& model;
  Command command;
  ListeningSocket listener;
  int epoll{-1};
  bool has_pwait2{true};  // the kernel has epoll_pwait2()
  Instant last{};
  Instant looked_at_sockets{};
  std::uint64_t next_id;  // programs of a server before this one hold others
  std::unordered_map<int, std::unique_ptr<Connection>> connections;  // by descriptor
  std::unordered_map<std::uint64_t, Connection*> ports_by_id;
  std::vector<std::unique_ptr<Host>> hosts;  // by node's first port and port; made when needed
  std::set<std::pair<Instant, Host*>> timers;
  std::vector<Host*> touched;
  std::vector<Connection*> heard;  // ports that may have more to say
  std::vector<std::byte> read_buffer;
  UserMad mad;  // the one that is being taken from a ring

  // ---- time
  Instant now();
  /// Lets everything happen that is due, and what follows from it at once.
  void settle();
  void touch(Host& host);
  void set_timer(Host& host);
  Host& host_at(PortRef port);
  /// Whether it is time for epoll.
  bool must_look_at_sockets();
  /// How long epoll may sleep; nullopt: until something arrives.
  std::optional<timespec> sleep_time();

  // ---- connections
  int wait_for_events(std::span<epoll_event> events, const timespec* sleep);
  void watch(int fd, std::uint32_t events, int operation) const;
  /// The bell of an open port and, under the same number, whether anybody has it open: EPOLLERR
  /// comes unasked.
  void watch_port(const ServerEnd& end) const;
  void accept_all();
  void close(Connection& c);
  void on_ready(int fd, std::uint32_t events);
  void hear(Connection& c);
  /// Sends a small reply; a peer that is gone is noticed by its descriptor.
  template <class T>
  void reply(Connection& c, const T& r) {
    [[maybe_unused]] const auto n = ::send(c.fd, &r, sizeof r, MSG_NOSIGNAL);
  }
  void reply_result(Connection& c, std::int32_t result, std::uint64_t id = 0);

  // ---- requests
  void on_request(Connection& c);
  /// The host port `port_num` of the node the client sits at.
  std::optional<PortRef> port_for(const Request& request, int port_num) const;
  void open_port(Connection& c, const Request& request);
  /// The reply to OpenPort, with the port's descriptors.
  void reply_files(Connection& c);
  void open_issm(Connection& c, const Request& request);
  /// The host whose file a request names; nullptr: there is no such file.
  Host* host_of_limit(const Request& request);
  void read_limit(Connection& c, const Request& request);
  void open_limit(Connection& c, const Request& request);
  /// A number in its range, and 0 for the drops, are taken; anything else changes nothing.
  void write_limit(Connection& c);
  /// Tells the process that holds the issm file now, if it does not know yet.
  void tell_issm(Host& host);
  /// Register, Unregister, Threshold and Send, which speak of a port that is open on another
  /// connection. What was written there before comes first.
  std::int32_t on_port_request(const Request& request, const std::vector<std::byte>& more);
  void run_command(Connection& c, const std::vector<std::byte>& more);

  // ---- MADs
  /// Hands what a program wrote to its kernel, `most` MADs or slots at the most. How many it were;
  /// nullopt: its ring is spoilt.
  std::optional<std::size_t> take_mads(Connection& c, std::size_t most);
  std::int32_t send(Connection& c, Instant at, UserMad& m);
  bool rests(const Connection& c) const { return last < c.rests_until; }
  void take_heard();
  /// After the fabric has settled: who has said more meanwhile stays heard, and of the others the
  /// bell is taken. So under load it is left alone; and where somebody else goes on talking, who
  /// has just fallen silent is listened to a little longer, which spares him the bell.
  void look_again();
  enum class Said { More, Enough, Last };
  Said listen(Connection& c);
  /// Writes what the kernel has for a program, as far as there is room.
  void flush_port(Connection& c);
  void write_text(Connection& c);
};

}  // namespace ibfabric
