// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The inside of Sweep. Its parts have a file each: sweep.cpp (what is asked, and what comes of
// answers), cables.cpp (the end: cables from what each port's neighbour said), partial.cpp (where
// most of the fabric is known). Inside libdiag/discover only.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libdiag/discover/sweep.h"
#include "libdiag/discover/sweep_request.h"
#include "libdiag/fabric/labels.h"

namespace ib::discover {

struct Sweep::Impl {
  using NodeIndex = fabric::NodeIndex;
  using PortRef = fabric::PortRef;

  explicit Impl(SweepOptions o) : options(std::move(o)) {
    if (options.partial)
      begin_partial();
    else
      ask_local();
  }

  SweepOptions options;
  Observed seen;
  struct Todo {
    Key key;
    std::uint32_t modifier;
  };
  std::deque<Todo> todo;           // asked for, not yet made into requests
  std::deque<NodeIndex> scanning;  // switches with ports left to read
  std::size_t in_flight{0};
  bool finished{false};
  bool local_probed{false};  // somebody was asked through the port of the local CA

  std::vector<PortRef> claim;  // by port index: what NodeInfo through this port named
  struct Progress {
    Duration hint{0};              // how slow its answers may be
    std::uint16_t next_port{0};    // the next switch port to read; 0: not begun
    std::uint8_t reading{0};       // PortInfos under way
    bool queued{false};            // in `scanning`
    bool silent{false};            // it did not answer: asked nothing more
    bool other_key{false};         // it is asked with another M_Key than in the beginning
    std::uint32_t asked_again{0};  // with it: a bit for each Ask
  };
  std::vector<Progress> progress;               // by node
  std::map<PortRef, std::uint64_t> new_m_keys;  // what ports showed that nobody knew
  std::unordered_map<Guid, PortRef> port_guids;
  struct Suspect {
    PortRef from, to;
    bool to_is_down;
  };
  std::vector<Suspect> suspects;
  enum class Shared { NodeGuid, PortGuid };
  struct Duplicate {
    std::size_t trouble;  // in seen.troubles
    NodeIndex holder;
    Shared shared;
    wire::NodeInfo info;  // of the second one
    PortRef from, to;     // two cables that seem to end at port `to`, one of them at `from`
  };
  std::vector<Duplicate> duplicates;
  std::vector<std::pair<Key, wire::NodeInfo>> newcomers;  // they stood elsewhere
  std::map<PortRef, PortRef> rechecked;                   // an answer's claim; absent: no answer
  std::map<PortRef, bool> recheck_down;                   // port -> still down

  // ---- asking

  // Requests are made only as they can be sent: a PortInfo waiting in a queue would cost 400 bytes.
  static constexpr std::size_t kInFlightMax = 2048;
  static constexpr std::size_t kAtOnce = 64;
  static constexpr unsigned kReadingMax = 4;  // ports of one switch at a time

  void ask(Ask what, PortRef at, std::uint32_t modifier) { todo.push_back({{what, at}, modifier}); }
  void ask_local() { ask(Ask::Probe, {fabric::kNoNode, 0}, 0); }
  void ask_port(PortRef at, bool extended);
  void probe(Ask what, PortRef at);
  mad::Request make_request(const Todo& t);
  mad::Request make_request(const Todo& t, std::uint64_t target, Guid guid,
                            const mad::DirectedRoute& route) const;
  bool readable(NodeIndex n) const;
  void scan(NodeIndex n);
  bool idle();
  std::vector<mad::Request> take_requests();

  // ---- troubles

  std::string place(PortRef p) const { return fabric::port_label(seen.fabric, p); }
  Trouble& note(Trouble::Kind kind, PortRef behind, Key key, std::string what);
  /// The switch port that node n was reached by.
  PortRef entry_of(NodeIndex n) const;
  void quarantine(NodeIndex n, Trouble::Kind kind, Key key, std::string what);

  // ---- answers

  void on_completion(const mad::Completion& c);
  /// One of the PortInfos that the scan of a switch counts.
  bool is_port_scan(Key key) const;
  /// A port that has an M_Key may be silent to every other (IBA 14.2.4.1).
  bool ask_with_other_key(Key key);
  void on_failure(Key key, Trouble::Kind kind, std::string what);
  void on_answer(Key key, const wire::Mad& mad);
  void on_node_info(Key key, const wire::NodeInfo& info, bool last = false);
  void add_node(PortRef from, const wire::NodeInfo& info, std::uint8_t guid_port);
  void on_switch_info(Key key, const wire::SwitchInfo& info);
  void on_port_info(Key key, const std::byte* bytes);
  /// Every Set writes the M_Key that a port showed back, and one that was misread would lock the
  /// port. So what is news is asked for twice. True: the answer is not taken.
  bool doubts_m_key(Key key, const wire::PortInfo& info);
  void on_vendor_port_info(Key key, const wire::Mad& mad);
  /// Somebody at `key` has a GUID that node `holder` had first. The second one is left out.
  void duplicate(Key key, const wire::NodeInfo& info, NodeIndex holder, Shared shared);

  // ---- the end: cables from claims

  /// At the end, when the names of the first holders are known.
  void describe_duplicates();
  bool can_be_12x(PortRef p) const;
  /// Everything asked is answered or given up. Cables that their two ends do not agree on are
  /// looked at once more; then the fabric is put together.
  void settle();
  template <class Do>
  void for_each_claim(Do&& run) {
    for (NodeIndex n = 0; n < seen.nodes.size(); ++n) {
      for (unsigned p = 0; p <= seen.nodes[n].info.num_ports; ++p) {
        const PortRef a{n, static_cast<std::uint8_t>(p)};
        if (const PortRef b = claim[seen.port_index(a)]) run(a, b);
      }
    }
  }
  bool find_suspects();
  void judge();
  void connect();
  void sort_troubles();

  // ---- a partial sweep

  /// What becomes of a node of the known fabric.
  enum class Look : std::uint8_t {
    Known,     // nobody has asked: it is as it was known
    Waiting,   // to be asked, after those that its route leads by
    Entering,  // asked who it is
    Answered,  // a switch: it said who it is, and whether anything changed is asked
    Same,      // a switch that says that nothing changed
    Read,      // asked again
    New,       // it was not known
  };
  struct Part {
    std::vector<Look> look;        // by node
    std::vector<bool> read_ports;  // by node, while it waits: whatever its SwitchInfo says
    std::vector<NodeIndex> waiting;
    std::vector<bool> fresh;   // by port index: its claim was made by this sweep
    std::vector<PortRef> via;  // by node: the port its route arrives from; none: no way leads there
    bool routes_stale{true};
    std::size_t cost{0}, cost_max{0};  // in requests, roughly
    std::string why_whole;
    std::vector<Guid> asked_anew;
  };
  std::unique_ptr<Part> part;  // none: the whole is swept

  void begin_partial();
  /// Gives up: the whole is to be swept.
  void want_whole(std::string why);
  bool is_open(NodeIndex n) const;
  void wait(NodeIndex n);
  void examine(NodeIndex n, bool read_ports);
  void enter(NodeIndex n);
  /// The next nodes that wait are asked, nearest first: what lies on the way to others is known
  /// before they are. False: nothing is left to ask.
  bool next_wave();
  void find_routes();
  bool is_reached(NodeIndex n) const { return part->via[n] || n == seen.local_port.node; }
  /// What the known fabric or this sweep had behind `from` is not there any more.
  void lose(PortRef from);
  void on_neighbour(PortRef from, const wire::NodeInfo& info);
  bool stayed_up(PortRef at) const;
  void read_again(NodeIndex n, PortRef from, const wire::NodeInfo& info);
  /// True: it says that nothing changed, and nothing more is asked of it.
  bool is_same_switch(NodeIndex n, const wire::SwitchInfo& info);
  void on_known_switch_port(PortRef at, const wire::PortInfo& info);
  /// The trouble that it is, if it is one already.
  Trouble* on_partial_failure(Key key, Trouble::Kind kind, std::string what);
  void settle_partial();
  bool claims_agree() const;
  void carry_troubles_over();
  std::string node_label(NodeIndex n) const { return fabric::node_label(seen.fabric.node(n)); }
  bool was_known(NodeIndex n) const { return part && part->look[n] != Look::New; }
  /// Whatever it fails to answer now is something new.
  bool was_in_order(NodeIndex n) const {
    return was_known(n) && options.partial->known->nodes[n].usable;
  }
};

}  // namespace ib::discover
