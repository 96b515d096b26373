// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Path queries at whatever SA the local port knows, through umad, and how long the answers take:
//
//   sa_storm peak SECONDS WINDOW   WINDOW Gets under way all the time
//   sa_storm load SECONDS RATE     RATE Gets a second, however long answers take; a latency counts
//                                  from when the request was due, so a stall is not forgotten
//   sa_storm table TIMES           GetTable of all NodeRecords, one after the other
//   sa_storm echo SECONDS          the other side of a floor: every Get comes back as it is, by the
//                                  barest loop there is; prints its LID, and at the end its answers
//   sa_storm peak SECONDS WINDOW LID   asks there instead of the SA
//
// One line of JSON: answers, busy, lost, wrong, rate, p50_us, p99_us, max_us, p99s_of_tenths_us (of
// the requests due in each tenth of a second, sorted); for `table` also records, for the others
// cpu_ns, what an answer cost this program.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <string_view>
#include <vector>

#include "libdiag/mad/umad/umad_port.h"
#include "libdiag/query/sa_client.h"

namespace {

using ib::Duration;
using ib::Instant;
using ib::monotonic_now;

int complain(const ib::Error& error) {
  fmt::print(stderr, "{}\n", error.message);
  return 1;
}

/// What was asked and when the answer came.
struct Answer {
  Instant due, came;
  double micros() const { return static_cast<double>((came - due).count()) / 1e3; }
};

/// The part `p` of `answers`, sorted by how long they took.
double part(const std::vector<Answer>& answers, double p) {
  if (answers.empty()) return 0;
  return answers[static_cast<std::size_t>(p * static_cast<double>(answers.size() - 1))].micros();
}

/// The p99 of each tenth of a second in which requests were due, sorted; of whole tenths only.
std::vector<double> p99s_of_tenths(std::vector<Answer> answers) {
  constexpr std::int64_t kTenth = 100'000'000;
  std::vector<double> p99s;
  std::ranges::sort(answers, {}, &Answer::due);
  for (auto from = answers.begin(); from != answers.end();) {
    const Instant end{answers.front().due.ns + kTenth * static_cast<std::int64_t>(p99s.size() + 1)};
    const auto to = std::ranges::lower_bound(from, answers.end(), end, {}, &Answer::due);
    if (to == answers.end()) break;  // this one has just begun when the load ends
    std::vector<Answer> tenth(from, to);
    std::ranges::sort(tenth, {}, &Answer::micros);
    p99s.push_back(part(tenth, 0.99));
    from = to;
  }
  std::ranges::sort(p99s);
  return p99s;
}

struct Figures {
  std::vector<Answer> answers;
  std::size_t busy{0}, lost{0}, wrong{0};
  std::size_t records{0};  // of a table
  Duration cpu{0};         // from the first request to the last answer

  void print(Duration took) {
    const auto tenths = p99s_of_tenths(answers);
    std::ranges::sort(answers, {}, &Answer::micros);
    const double seconds = static_cast<double>(took.count()) / 1e9;
    fmt::print(
        "{{\"answers\": {}, \"busy\": {}, \"lost\": {}, \"wrong\": {}, \"rate\": {:.0f}, "
        "\"p50_us\": {:.0f}, \"p99_us\": {:.0f}, \"max_us\": {:.0f}",
        answers.size(), busy, lost, wrong, static_cast<double>(answers.size()) / seconds,
        part(answers, 0.5), part(answers, 0.99), part(answers, 1.0));
    fmt::print(", \"p99s_of_tenths_us\": [{:.0f}]", fmt::join(tenths, ", "));
    if (records != 0) fmt::print(", \"records\": {}", records);
    if (cpu.count() != 0)
      fmt::print(", \"cpu_ns\": {:.0f}",
                 static_cast<double>(cpu.count()) /
                     static_cast<double>(std::max<std::size_t>(1, answers.size())));
    fmt::print("}}\n");
  }
};

/// CPU this process has used.
Duration cpu_now() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

void sleep_until(Instant at) {
  const timespec time{static_cast<time_t>(at.ns / 1'000'000'000),
                      static_cast<long>(at.ns % 1'000'000'000)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
}

class Client {
 public:
  Client(ib::mad::Port& port, const ib::mad::PortFacts& facts, const ib::query::SaAddress& sa,
         std::vector<ib::Lid> lids)
      : port_(port), sa_(sa), own_(facts.lid), lids_(std::move(lids)), random_(own_.value) {
    ib::mad::AgentSpec spec;
    spec.mgmt_class = ib::wire::MgmtClass::SubnAdm;
    spec.class_version = 2;
    // One agent has 16 questions to an administrator on the wire (Linux since 6.17).
    for (auto& agent : agents_) agent = port_.register_agent(spec).value_or(-1);
    // Made once: it is the administrator's time that is measured.
    ib::wire::PathRecord wanted;
    wanted.slid = own_;
    wanted.numb_path = 1;
    wanted.reversible = true;
    namespace c = ib::query::component;
    auto request =
        ib::query::sa_request(0, sa_, ib::wire::Method::Get, wanted,
                              c::kPathSlid | c::kPathDlid | c::kPathReversible | c::kPathNumbPath);
    request_ = {request.address, request.mad, {}};
  }
  bool ready() const {
    return std::ranges::all_of(agents_, [](ib::mad::AgentId agent) { return agent >= 0; });
  }

  Figures peak(Duration during, std::size_t window) {
    make_room(kAnswersMost * static_cast<double>(during.count()) / 1e9);
    const Duration cpu_before = cpu_now();
    const Instant end = monotonic_now() + during;
    for (Instant now = monotonic_now(); now < end; now = monotonic_now()) {
      while (under_way_ < window) ask(now);
      hear(Duration(std::chrono::milliseconds(20)));
    }
    drain();
    figures_.cpu = cpu_now() - cpu_before;
    return std::move(figures_);
  }
  Figures load(Duration during, double per_second) {
    make_room(1.1 * per_second * static_cast<double>(during.count()) / 1e9);
    draw_pauses(per_second);
    const Duration cpu_before = cpu_now();
    const Instant end = monotonic_now() + during;
    Instant due = monotonic_now();
    while (due < end) {
      const Instant now = monotonic_now();
      for (; due <= now && due < end && under_way_ < kUnderWayMost;
           due = due + pauses_[next_pause_++ % pauses_.size()])
        ask(due);
      if (due > now + kPause) {
        hear(due - now);
      } else if (due > now) {
        sleep_until(now + kPause);
        hear(Duration{0});
      } else {
        // Behind: it catches up as a window of questions would, and takes no processor meanwhile.
        hear(std::chrono::milliseconds(20));
      }
    }
    drain();
    figures_.cpu = cpu_now() - cpu_before;
    return std::move(figures_);
  }

 private:
  /// Pages for so many answers, which would be made while others wait.
  void make_room(double answers) {
    figures_.answers.resize(static_cast<std::size_t>(answers));
    figures_.answers.clear();
  }
  /// Beforehand: a logarithm each costs more than asking does.
  void draw_pauses(double per_second) {
    std::exponential_distribution<double> pause(per_second);
    pauses_.resize(kPauses);
    for (auto& p : pauses_) p = Duration(static_cast<std::int64_t>(pause(random_) * 1e9));
  }
  void ask(Instant due) {
    using Path = ib::wire::View<ib::wire::PathRecord>;
    Path(request_.mad.data()).set<&ib::wire::PathRecord::dlid>(lids_[random_() % lids_.size()]);
    const std::uint32_t number = ++last_;
    request_.mad.set<&ib::wire::MadHeader::tid>(ib::Tid{number});
    Asked& asked = asked_[number % kAskedMax];
    if (asked.number != 0) {  // so long ago that its place is needed: its time is over
      ++figures_.lost;
      --under_way_;
    }
    asked = {number, due};
    ++under_way_;
    if (!port_.send(agents_[number % agents_.size()], request_, kPatience)) {
      ++figures_.lost;
      --under_way_;
      asked.number = 0;
    }
  }
  void hear(Duration wait) {
    // The port waits in whole milliseconds, which is longer than most answers take.
    pollfd fd{port_.readable_fd(), POLLIN, 0};
    const timespec most{static_cast<time_t>(wait.count() / 1'000'000'000),
                        static_cast<long>(wait.count() % 1'000'000'000)};
    if (ppoll(&fd, 1, &most, nullptr) <= 0) return;
    arrived_.clear();
    (void)port_.receive(arrived_, Duration{0});
    const Instant now = monotonic_now();
    for (const auto& r : arrived_) {
      const auto number = static_cast<std::uint32_t>(r.packet.mad.tid().value);
      Asked& asked = asked_[number % kAskedMax];
      if (number == 0 || asked.number != number) {
        ++figures_.wrong;
        continue;
      }
      if (r.timed_out) {
        ++figures_.lost;
      } else if (r.packet.mad.status() == ib::wire::status::kBusy) {
        ++figures_.busy;
      } else {
        if (r.packet.mad.status() != 0) ++figures_.wrong;
        figures_.answers.push_back({asked.due, now});
      }
      asked.number = 0;
      --under_way_;
    }
  }
  void drain() {
    const Instant end = monotonic_now() + kPatience + std::chrono::milliseconds(200);
    while (under_way_ != 0 && monotonic_now() < end) hear(std::chrono::milliseconds(20));
    figures_.lost += under_way_;
  }

  static constexpr Duration kPatience = std::chrono::seconds(3);
  // As many as the agents have on the wire. What is due beyond waits here, which counts all the
  // same, and not in the kernel.
  static constexpr std::size_t kUnderWayMost = 384;
  // What falls due within it leaves together, and answers that came meanwhile are taken together,
  // late, which counts: a client that wakes up for every request and every answer of a storm would
  // take a processor from those it asks.
  static constexpr Duration kPause = std::chrono::microseconds(250);
  static constexpr std::size_t kPauses = 1U << 16U;  // between questions, used again and again
  std::vector<Duration> pauses_;
  std::size_t next_pause_{0};
  static constexpr double kAnswersMost = 5e6;  // a second
  ib::mad::Port& port_;
  ib::query::SaAddress sa_;
  ib::Lid own_;
  std::vector<ib::Lid> lids_;
  std::mt19937 random_;
  // 384 questions on the wire; a file has room for eight more, of which the tables take one.
  std::array<ib::mad::AgentId, 24> agents_{};
  ib::mad::Packet request_;
  std::uint32_t last_{0};
  struct Asked {
    std::uint32_t number{0};  // 0: it was answered
    Instant due;
  };
  static constexpr std::size_t kAskedMax = 1U << 20U;
  std::vector<Asked> asked_{kAskedMax};  // by number
  std::size_t under_way_{0};
  std::vector<ib::mad::Received> arrived_;
  Figures figures_;
};

int echo(ib::mad::Port& port, ib::Lid own, Duration during) {
  ib::mad::AgentSpec spec;
  spec.mgmt_class = ib::wire::MgmtClass::SubnAdm;
  spec.class_version = 2;
  spec.methods = {ib::wire::Method::Get};
  const auto agent = port.register_agent(spec);
  if (!agent) return complain(agent.error());
  fmt::print("{}\n", own.value);
  std::fflush(stdout);
  std::vector<ib::mad::Received> arrived;
  std::size_t answers = 0;
  const Instant end = monotonic_now() + during;
  while (monotonic_now() < end) {
    arrived.clear();
    if (auto got = port.receive(arrived, std::chrono::milliseconds(20)); !got)
      return complain(got.error());
    for (auto& r : arrived) {
      r.packet.mad.set<&ib::wire::MadHeader::method>(ib::wire::Method::GetResp);
      r.packet.more.clear();
      if (auto sent = port.send(*agent, r.packet, Duration{0}); !sent)
        return complain(sent.error());
      ++answers;
    }
  }
  fmt::print("{{\"answers\": {}}}\n", answers);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string_view mode = argv[1];
  const double first = std::atof(argv[2]), second = argc > 3 ? std::atof(argv[3]) : 1;
  auto port = ib::mad::UmadPort::open();
  if (!port) return complain(port.error());
  const auto facts = (*port)->facts();
  if (!facts) return complain(facts.error());
  if (mode == "echo")
    return echo(**port, facts->lid, Duration(static_cast<std::int64_t>(first * 1e9)));
  const auto sa = ib::query::sa_address(*facts);
  if (!sa) return complain(sa.error());

  std::vector<ib::Lid> lids;
  Figures tables;
  const Instant start = monotonic_now();
  {
    ib::mad::Session session(**port, {});
    const int times = mode == "table" ? static_cast<int>(first) : 1;
    for (int i = 0; i < times; ++i) {
      const Instant asked = monotonic_now();
      auto answer = session.call(
          ib::query::sa_request(0, *sa, ib::wire::Method::GetTable, ib::wire::NodeRecord{}, 0));
      if (!answer) return complain(answer.error());
      tables.answers.push_back({asked, monotonic_now()});
      if (i != 0) continue;
      const auto nodes = ib::query::read_table<ib::wire::NodeRecord>(*answer);
      if (!nodes) return complain(nodes.error());
      for (const auto& node : *nodes) lids.push_back(node.lid);
    }
  }
  if (mode == "table") {
    tables.records = lids.size();
    tables.print(monotonic_now() - start);
    return 0;
  }
  auto whom = *sa;
  if (argc > 4) whom.lid = ib::Lid{static_cast<std::uint16_t>(std::atoi(argv[4]))};
  Client client(**port, *facts, whom, std::move(lids));
  if (!client.ready()) return 1;
  const Duration during(static_cast<std::int64_t>(first * 1e9));
  if (mode == "peak") {
    client.peak(during, static_cast<std::size_t>(second)).print(during);
    return 0;
  }
  client.load(during, second).print(during);
  return 0;
}
