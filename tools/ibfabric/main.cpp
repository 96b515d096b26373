// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibfabric: a simulated InfiniBand fabric. run, serve, exec, ctl, gen.
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "libdiag/base/output.h"
#include "libdiag/base/text.h"
#include "libdiag/cli/command_line.h"
#include "libdiag/cli/exit_status.h"
#include "libdiag/fabric/generate.h"
#include "libdiag/fabric/text_file.h"
#include "libdiag/fabric/topology_gaps.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/report/json.h"
#include "libdiag/sim/model.h"
#include "tools/ibfabric/capture.h"
#include "tools/ibfabric/control.h"
#include "tools/ibfabric/device_lines.h"
#include "tools/ibfabric/launch.h"
#include "tools/ibfabric/place.h"
#include "tools/ibfabric/protocol.h"
#include "tools/ibfabric/server.h"

namespace {

using namespace ibfabric;
using ib::ErrorKind;
using ib::Result;

using ib::cli::kExitCannotRun;
using ib::cli::kExitUsage;

constexpr int kRunFailed = 125;
constexpr const char* kStatuses =
    "Exit status: 0 done, 1 unknown node, 2 usage or bad file, 4 cannot run; of run and exec that "
    "of the command.";

int complain(const ib::Error& error, int status) {
  return ib::cli::complain("ibfabric", error.message, status);
}
int complain(const ib::Error& error) { return complain(error, ib::cli::status_of(error)); }

/// `status`, unless what was printed did not arrive.
int finish(int status) {
  const auto whole = ib::finish_output();
  return whole ? status : complain(whole.error());
}

std::string failure(const ib::Error& error) {
  return ib::report::failure_document(kSchema, "ibfabric", IBKIT_VERSION, error,
                                      ib::cli::status_of(error));
}

/// A complaint and, where JSON was asked for, the document that says the same on stdout.
int refuse(const ib::Error& error, bool json) {
  if (json) std::cout << failure(error) << std::flush;
  return complain(error);
}

/// Options of `run` and `serve`.
struct ServeOptions {
  std::string topology;
  std::string socket;
  std::string at;
  std::string lids{"none"};
  bool verbose{false}, strict_enforcement{false}, no_receive_thresholds{false},
      sa_congestion{false};
  std::uint64_t seed{1};
  double loss{0}, duplicate{0}, delay_ms{0}, sma_us{2};
  ib::sim::Faults faults;

  ib::sim::ModelOptions model() const {
    ib::sim::ModelOptions m;
    m.seed = seed;
    m.keep_lids = lids == "keep";
    m.strict_enforcement = strict_enforcement;
    m.faults = faults;
    m.faults.receive_thresholds = !no_receive_thresholds;
    m.faults.sa_congestion = sa_congestion;
    m.faults.loss_percent = loss;
    m.faults.duplicate_percent = duplicate;
    m.faults.delay = ib::Duration{std::llround(delay_ms * 1e6)};
    m.faults.sma_service = ib::Duration{std::llround(sma_us * 1e3)};
    return m;
  }
};

struct Topology {
  std::string text;
  ib::fabric::Fabric fabric;
};

Result<Topology> load(const ServeOptions& options) {
  std::vector<std::string> warnings;
  auto text = ib::fabric::read_file_or_pipe(options.topology);
  if (!text) return tl::unexpected(text.error());
  auto fabric = ib::fabric::read_topology(*text, options.topology, &warnings);
  // What the fabric lacks is said whether or not somebody asks.
  std::vector<std::string> said = ib::fabric::take_gaps(warnings).lines;
  if (options.verbose) said.insert(said.begin(), warnings.begin(), warnings.end());
  for (const auto& line : said) std::fprintf(stderr, "ibfabric: %s\n", line.c_str());
  if (!fabric) return tl::unexpected(fabric.error());
  return Topology{std::move(*text), std::move(*fabric)};
}

/// The signals the server waits for, blocked, and SIGPIPE, which tells of programs that are gone,
/// ignored; children have them as they were.
struct Signals {
  sigset_t before;
  int fd;
  Signals() {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int s : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&wanted, s);
    sigprocmask(SIG_BLOCK, &wanted, &before);
    fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    std::signal(SIGPIPE, SIG_IGN);
  }
  ~Signals() {
    close(fd);
    restore();
  }
  void restore() const {
    std::signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
};

/// A fabric with its server, not yet listening.
struct Fabric {
  Fabric(ib::fabric::Fabric topology, const ib::sim::ModelOptions& options)
      : model(std::move(topology), options),
        capture(model),
        control(model, capture, server),
        server(model, [this](ib::Instant now, const std::string& text) {
          const CtlResult r = control.execute(now, decode(text));
          return Server::CommandResult{r.status, r.text};
        }) {}
  ib::sim::Model model;
  PcapCapture capture;
  Control control;
  Server server;
};

int serve(const ServeOptions& options) {
  auto topology = load(options);
  if (!topology) return complain(topology.error());
  Signals signals;
  Fabric fabric(std::move(topology->fabric), options.model());
  if (const auto devices = apply_device_lines(fabric.model, topology->text, options.topology);
      !devices)
    return complain(devices.error());
  if (const auto listening = fabric.server.listen(options.socket); !listening) {
    return complain(listening.error());
  }
  std::printf("ready %s\n", options.socket.c_str());
  std::fflush(stdout);
  return fabric.server.run(signals.fd, [](int signal) -> std::optional<int> {
    if (signal == SIGTERM || signal == SIGINT) return 0;
    return std::nullopt;
  });
}

/// A directory for the socket of `run`, removed at the end.
struct TemporaryDirectory {
  std::string path;
  TemporaryDirectory() {
    const char* parent = std::getenv("TMPDIR");
    // A socket path has little room; a long TMPDIR is passed by.
    std::string text = parent != nullptr && std::strlen(parent) < 64 ? parent : "/tmp";
    text += "/ibfabric.XXXXXX";
    if (mkdtemp(text.data()) != nullptr) path = text;
  }
  ~TemporaryDirectory() {
    std::error_code error;
    if (!path.empty()) std::filesystem::remove_all(path, error);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
};

/// Waits for processes that the command left behind (a daemon such as `ibsm -B`) and that end with
/// the fabric: they may be writing into its directory. Not for longer than a moment; a process that
/// has nothing to do with the fabric stays.
struct LeftBehind {
  LeftBehind() { prctl(PR_SET_CHILD_SUBREAPER, 1); }
  ~LeftBehind() {
    constexpr int kTries = 200;
    constexpr useconds_t kRest = 10'000;
    for (int i = 0; i < kTries && waitpid(-1, nullptr, WNOHANG) >= 0; ++i) usleep(kRest);
  }
  LeftBehind(const LeftBehind&) = delete;
  LeftBehind& operator=(const LeftBehind&) = delete;
};

int run(const ServeOptions& options, const std::vector<std::string>& command) {
  const auto library = preload_library();
  if (!library) return complain(library.error(), kRunFailed);
  auto topology = load(options);
  if (!topology) return complain(topology.error(), kRunFailed);
  const auto place = find_place(topology->fabric, options.at);
  if (!place) return complain(place.error(), kRunFailed);
  const TemporaryDirectory directory;
  if (directory.path.empty()) {
    return complain({ErrorKind::Io, "cannot make a directory for the socket"}, kRunFailed);
  }
  const std::string socket = directory.path + "/socket";
  const LeftBehind left_behind;  // goes after the fabric and before the directory

  Signals signals;
  Fabric fabric(std::move(topology->fabric), options.model());
  if (const auto devices = apply_device_lines(fabric.model, topology->text, options.topology);
      !devices)
    return complain(devices.error(), kRunFailed);
  if (const auto listening = fabric.server.listen(socket); !listening) {
    return complain(listening.error(), kRunFailed);
  }
  std::string at = "@" + std::to_string(place->node);
  if (place->port) at += ":" + std::to_string(*place->port);

  const pid_t child = fork();
  if (child < 0) return complain({ErrorKind::Io, "cannot fork"}, kRunFailed);
  if (child == 0) {
    signals.restore();
    enter_environment(*library, socket, at);
    _exit(replace_by(command));
  }
  return fabric.server.run(signals.fd, [child](int signal) -> std::optional<int> {
    if (signal == SIGTERM || signal == SIGHUP) kill(child, signal);
    if (signal != SIGCHLD) return std::nullopt;  // SIGINT reaches the command by the terminal
    std::optional<int> ended;
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
      if (pid == child) ended = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return ended;
  });
}

int execute(const std::string& socket, const std::string& at,
            const std::vector<std::string>& command) {
  const auto library = preload_library();
  if (!library) return complain(library.error());
  CtlCommand locate{"at", {}, {}, false};
  if (!at.empty()) locate.words.push_back(at);
  const auto place = call_server(socket, locate);
  if (!place) return complain(place.error());
  if (place->status != 0) {
    std::fprintf(stderr, "ibfabric: %s", place->text.c_str());
    return place->status == kNobody ? ib::cli::kExitFound : kExitUsage;
  }
  enter_environment(*library, absolute_path(socket), place->text);
  return replace_by(command);
}

int control(const std::string& socket, const CtlCommand& command) {
  const auto result = call_server(socket, command);
  if (!result) return refuse(result.error(), command.json);
  if (result->status != 0) {
    const ErrorKind kind = result->status == ibfabric::kNobody ? ErrorKind::NotFound
                           : result->status == kExitUsage      ? ErrorKind::Usage
                                                               : ErrorKind::Internal;
    return refuse({kind, std::string(ib::trim(result->text)), 0}, command.json);
  }
  std::fwrite(result->text.data(), 1, result->text.size(), stdout);
  return finish(0);
}

int generate(std::vector<std::string> words) {
  std::string output;
  for (auto w = words.begin(); w != words.end(); ++w) {
    if (*w == "--help" || *w == "-h") {
      std::cout << "ibfabric gen KIND [options] [--output FILE]\n" << ib::fabric::generate_usage();
      return finish(0);
    }
    if (*w == "--output" && w + 1 != words.end()) {
      output = *(w + 1);
      words.erase(w, w + 2);
      break;
    }
  }
  if (words.empty()) {
    std::cerr << "ibfabric gen KIND [options] [--output FILE]\n" << ib::fabric::generate_usage();
    return kExitUsage;
  }
  const auto fabric = ib::fabric::generate(words);
  if (!fabric) return complain(fabric.error(), kExitUsage);
  if (output.empty()) {
    ib::fabric::write_topology(std::cout, *fabric);
    return finish(0);
  }
  std::ofstream file(output);
  ib::fabric::write_topology(file, *fabric);
  if (file.flush()) return 0;
  return complain({ErrorKind::Io, output + ": " + std::strerror(errno)}, kExitCannotRun);
}

constexpr std::uint64_t kQueueMax = 1'000'000;  // as ctl faults has it

void add_serve_options(ib::cli::CommandLine& line, ServeOptions& o) {
  line.operand("TOPOLOGY", o.topology, "Topology, in the format of ibnetdiscover");
  line.choice("--lids", o.lids, {"none", "keep"}, "LIDs at the start: none, or keep the file's");
  line.number("--seed", o.seed, 0, UINT64_MAX, "Random seed");
  line.number("--loss", o.loss, 0, 100, "Per cent of MADs lost, in each direction");
  line.number("--duplicate", o.duplicate, 0, 100, "Per cent of MADs that are duplicated");
  line.number("--delay-ms", o.delay_ms, 0, 1e6, "Delay added to every MAD");
  line.number("--sma-us", o.sma_us, 0, 1e9, "Time an SMA takes for one MAD");
  line.number("--sma-queue", o.faults.sma_queue, 0, kQueueMax, "MADs waiting at an SMA");
  line.number("--vl15-buffer", o.faults.vl15_buffer, 0, kQueueMax,
              "MADs on a link in one direction");
  line.number("--rcv-queue", o.faults.receive_queue, 0, kQueueMax,
              "Receive slots of a host's QP0 and QP1");
  line.flag("--no-rx-threshold", o.no_receive_thresholds,
            "Hosts whose ib_umad has no enable_rx_threshold=1");
  line.flag("--mad-sa-cc", o.sa_congestion,
            "Hosts whose driver has MAD congestion control, with its files in sysfs");
  line.flag("--strict-enforcement", o.strict_enforcement,
            "Switch ports that enforce partitions compare membership, too");
  line.flag("-v,--verbose", o.verbose, "Say what is odd in the topology");
}

/// A verb of `ctl`: what it wants, and how many words that is.
struct CtlVerb {
  const char* name;
  const char* purpose;
  const char* form;
  std::size_t words_min, words_max;
};
constexpr CtlVerb kCtlVerbs[] = {
    {"link", "Pull or plug a cable, have a port notice errors", "down|up|errors NODE PORT", 3, 3},
    {"node", "Change the behaviour of a node",
     "reboot|remove|return|silent|garbage|normal NODE, describe NODE TEXT", 2, 3},
    {"cable", "Move one end of a cable", "move NODE PORT NODE2 PORT2", 5, 5},
    {"seed", "Reset the random seed", "N", 1, 1},
    {"show", "State of a node or port", "NODE [PORT]", 1, 2},
    {"pcap", "Capture for Wireshark", "FILE|off", 1, 1},
    {"stats", "MADs by class, method, attribute", "", 0, 0},
    {"faults", "Loss, delay, slow devices", "", 0, 0},
    {"device", "Properties of a device: show, change", "NODE [PORT] [NAME=VALUE]...", 1, 64},
    {"vport", "Virtual ports of a host's port: show, change",
     "NODE[:PORT] [INDEX up|down|lid on|off|guid GUID|describe TEXT]", 1, 4},
    {"flow", "Traffic between end ports, and its rates",
     "add SRC DST|list|del ID|all|pattern shift|alltoall|random [N]", 1, 3},
    {"counters", "Error counters of a port: show, set, increase over time",
     "NODE PORT [NAME=VALUE|NAME=+RATE]...", 2, 64},
    {"thresholds", "Receive queues of open ports, MADs dropped above the threshold", "[reset]", 0,
     1},
};

/// The words of `ctl`.
struct CtlOptions {
  std::string socket;
  CtlCommand command;
  std::vector<std::string> link;
  std::string loss, duplicate, delay_ms, sma_us, sma_queue, vl15_buffer, rcv_queue;
  std::string sl, rate, size, seed;  // of flows
  std::vector<std::pair<const char*, const ib::cli::CommandLine*>> verbs;
};

void add_ctl(ib::cli::CommandLine& ctl, CtlOptions& o) {
  ctl.text_or_environment("--socket", o.socket, kEnvSocket, "PATH",
                          "Socket of the server (default: $IBFABRIC_SOCKET)");
  ctl.footer(std::string("Use -- before arguments that begin with '-'\n\n") + kStatuses);
  for (const CtlVerb& verb : kCtlVerbs) {
    auto& line = ctl.verb(verb.name, verb.purpose);
    line.operands(verb.form, o.command.words, verb.words_min, verb.words_max);
    line.flag("--json", o.command.json, "Answer in JSON");
    o.verbs.emplace_back(verb.name, &line);
    if (verb.name == std::string_view("flow")) {
      line.text("--sl", o.sl, "N", "Service level (0)");
      line.text("--rate", o.rate, "GBIT", "Gb/s that it wants to send (as much as it can)");
      line.text("--size", o.size, "BYTES", "Bytes of a message (4096)");
      line.text("--seed", o.seed, "N", "Random seed of a pattern (1)");
    }
    if (verb.name != std::string_view("faults")) continue;
    line.pair("--link", o.link, "NODE PORT", "This cable only");
    line.text("--loss", o.loss, "PCT", "Per cent");
    line.text("--duplicate", o.duplicate, "PCT", "Per cent");
    line.text("--delay-ms", o.delay_ms, "N", "Delay added to every MAD");
    line.text("--sma-us", o.sma_us, "N", "Time an SMA takes for one MAD");
    line.text("--sma-queue", o.sma_queue, "N", "MADs waiting at an SMA");
    line.text("--vl15-buffer", o.vl15_buffer, "N", "MADs on a link");
    line.text("--rcv-queue", o.rcv_queue, "N", "Receive slots of a QP");
  }
}

CtlCommand command_of(const CtlOptions& o) {
  CtlCommand command = o.command;
  for (const auto& [name, line] : o.verbs)
    if (line->chosen()) command.verb = name;
  if (command.verb == "faults") command.words = o.link;
  const std::pair<const char*, const std::string*> all[] = {{"loss", &o.loss},
                                                            {"duplicate", &o.duplicate},
                                                            {"delay-ms", &o.delay_ms},
                                                            {"sma-us", &o.sma_us},
                                                            {"sma-queue", &o.sma_queue},
                                                            {"vl15-buffer", &o.vl15_buffer},
                                                            {"rcv-queue", &o.rcv_queue},
                                                            {"sl", &o.sl},
                                                            {"rate", &o.rate},
                                                            {"size", &o.size},
                                                            {"seed", &o.seed}};
  for (const auto& [name, value] : all) {
    if (!value->empty()) command.options[name] = *value;
  }
  if (command.verb == "pcap" && !command.words.empty() && command.words[0] != "off") {
    command.words[0] = absolute_path(command.words[0]);
  }
  return command;
}

}  // namespace

int main(int argc, char** argv) {
  ib::hold_standard_files();
  // `gen` reads its words itself.
  if (argc > 1 && argv[1] == std::string_view("gen")) return generate({argv + 2, argv + argc});

  ib::cli::CommandLine line("ibfabric", "A simulated InfiniBand fabric to learn, test and plan on",
                            IBKIT_VERSION);
  line.version_names("-V,--version");
  line.documents(failure);
  line.footer(kStatuses);
  ServeOptions options;
  CtlOptions ctl_options;
  std::string exec_socket;
  std::vector<std::string> command;

  auto& run_line = line.verb("run", "Serve a fabric and run a command in it");
  add_serve_options(run_line, options);
  run_line.text("--at", options.at, "NODE[:PORT]", "Where the command runs");
  run_line.command_to_run(command);
  run_line.usage_status(kRunFailed);
  run_line.footer(
      "-- COMMAND...  follows the options\n\nExit status: that of COMMAND; 126 or 127 it could not "
      "be started, 125 ibfabric itself failed.");
  auto& serve_line = line.verb("serve", "Serve a fabric until SIGTERM");
  add_serve_options(serve_line, options);
  serve_line.footer(kStatuses);
  serve_line.required_text("--socket", options.socket, "PATH",
                           "Unix socket to serve the fabric at");
  auto& exec_line = line.verb("exec", "Run a command in a fabric that is served");
  exec_line.text_or_environment("--socket", exec_socket, kEnvSocket, "PATH",
                                "Socket of the server (default: $IBFABRIC_SOCKET)");
  exec_line.text("--at", options.at, "NODE[:PORT]", "Where the command runs");
  exec_line.command_to_run(command);
  exec_line.footer(
      "-- COMMAND...  follows the options\n\nExit status: that of COMMAND; 1 unknown node, 2 "
      "usage, 4 "
      "no server.");
  add_ctl(line.verb("ctl", "Control a fabric that is served"), ctl_options);
  line.verb("gen", "Write a topology: gen --help");

  if (const auto status = line.parse(argc, argv)) return finish(*status);
  std::signal(SIGPIPE, SIG_DFL);  // whatever it was: commands get it so
  if (run_line.chosen()) return run(options, command);
  if (serve_line.chosen()) return serve(options);
  if (exec_line.chosen()) return execute(exec_socket, options.at, command);
  return control(ctl_options.socket, command_of(ctl_options));
}
