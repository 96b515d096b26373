// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibfabric: a simulated InfiniBand fabric. run, serve, exec, ctl, gen.
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
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
#include "libdiag/fabric/generate.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/report/json.h"
#include "libdiag/sim/model.h"
#include "tools/ibfabric/capture.h"
#include "tools/ibfabric/control.h"
#include "tools/ibfabric/launch.h"
#include "tools/ibfabric/place.h"
#include "tools/ibfabric/protocol.h"
#include "tools/ibfabric/server.h"

namespace {

using namespace ibfabric;
using ib::ErrorKind;
using ib::Result;

constexpr int kUsage = 2, kCannotRun = 4, kRunFailed = 125;

int complain(const ib::Error& error, int status) {
  std::fprintf(stderr, "ibfabric: %s\n", error.message.c_str());
  return status;
}
int complain(const ib::Error& error) { return complain(error, ib::exit_status(error.kind)); }

/// `status`, unless what was printed did not arrive.
int finish(int status) {
  const auto whole = ib::finish_output();
  return whole ? status : complain(whole.error());
}

/// A complaint and, where JSON was asked for, the document that says the same on stdout.
int refuse(const ib::Error& error, bool json) {
  complain(error);
  if (json)
    std::cout << ib::report::failure_document(kSchema, "ibfabric", IBKIT_VERSION, error,
                                              ib::exit_status(error.kind))
              << std::flush;
  return ib::exit_status(error.kind);
}

/// Options of `run` and `serve`.
struct ServeOptions {
  std::string topology;
  std::string socket;
  std::string at;
  std::string lids{"none"};
  bool verbose{false};
  std::uint64_t seed{1};
  double loss{0}, duplicate{0}, delay_ms{0}, sma_us{2};
  ib::sim::Faults faults;

  ib::sim::ModelOptions model() const {
    ib::sim::ModelOptions m;
    m.seed = seed;
    m.keep_lids = lids == "keep";
    m.faults = faults;
    m.faults.loss_percent = loss;
    m.faults.duplicate_percent = duplicate;
    m.faults.delay = ib::Duration{std::llround(delay_ms * 1e6)};
    m.faults.sma_service = ib::Duration{std::llround(sma_us * 1e3)};
    return m;
  }
};

Result<ib::fabric::Fabric> load(const ServeOptions& options) {
  std::vector<std::string> warnings;
  auto fabric = ib::fabric::read_topology_file(options.topology, &warnings);
  if (options.verbose) {
    for (const auto& warning : warnings) std::fprintf(stderr, "ibfabric: %s\n", warning.c_str());
  }
  return fabric;
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
        control(model, capture),
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
  Fabric fabric(std::move(*topology), options.model());
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

int run(const ServeOptions& options, const std::vector<std::string>& command) {
  const auto library = preload_library();
  if (!library) return complain(library.error(), kRunFailed);
  auto topology = load(options);
  if (!topology) return complain(topology.error(), kRunFailed);
  const auto place = find_place(*topology, options.at);
  if (!place) return complain(place.error(), kRunFailed);
  const TemporaryDirectory directory;
  if (directory.path.empty()) {
    return complain({ErrorKind::Io, "cannot make a directory for the socket"}, kRunFailed);
  }
  const std::string socket = directory.path + "/socket";

  Signals signals;
  Fabric fabric(std::move(*topology), options.model());
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
    int status = 0;
    if (waitpid(child, &status, WNOHANG) != child) return std::nullopt;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
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
    return kUsage;
  }
  enter_environment(*library, absolute_path(socket), place->text);
  return replace_by(command);
}

int control(const std::string& socket, const CtlCommand& command) {
  const auto result = call_server(socket, command);
  if (!result) return refuse(result.error(), command.json);
  if (result->status != 0) {
    const ErrorKind kind = result->status == ibfabric::kNobody ? ErrorKind::NotFound
                           : result->status == kUsage          ? ErrorKind::Usage
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
    return kUsage;
  }
  const auto fabric = ib::fabric::generate(words);
  if (!fabric) return complain(fabric.error(), kUsage);
  if (output.empty()) {
    ib::fabric::write_topology(std::cout, *fabric);
    return finish(0);
  }
  std::ofstream file(output);
  ib::fabric::write_topology(file, *fabric);
  if (file.flush()) return 0;
  return complain({ErrorKind::Io, output + ": " + std::strerror(errno)}, kCannotRun);
}

constexpr std::uint64_t kQueueMax = 1'000'000;  // as ctl faults has it

/// CLI::Range takes "nan" for a number in any range.
std::function<std::string(const std::string&)> number_from(double min, double max) {
  return [min, max](const std::string& text) { return ib::range_complaint(text, min, max); };
}

std::function<std::string(const std::string&)> whole_number_to(std::uint64_t max) {
  return [max](const std::string& text) {
    std::uint64_t value = 0;
    return ib::parse_number(text, max, value)
               ? std::string()
               : "expected a number from 0 to " + std::to_string(max) + ", got '" +
                     ib::printable(text) + "'";
  };
}

std::string lids_complaint(const std::string& text) {
  return text == "none" || text == "keep" ? std::string()
                                          : "expected none|keep, got '" + ib::printable(text) + "'";
}

void add_serve_options(CLI::App& app, ServeOptions& o) {
  app.add_option("topology", o.topology, "ibnetdiscover text")->required()->type_name("TOPOLOGY");
  app.add_option("--lids", o.lids, "LIDs at the start: none, or keep the file's")
      ->check(lids_complaint);
  app.add_option("--seed", o.seed, "what the dice start from")
      ->check(whole_number_to(~std::uint64_t{0}));
  app.add_option("--loss", o.loss, "per cent of MADs lost, each way")->check(number_from(0, 100));
  app.add_option("--duplicate", o.duplicate, "per cent of MADs that come twice")
      ->check(number_from(0, 100));
  app.add_option("--delay-ms", o.delay_ms, "added to every MAD")->check(number_from(0, 1e6));
  app.add_option("--sma-us", o.sma_us, "time an SMA takes for one MAD")->check(number_from(0, 1e9));
  app.add_option("--sma-queue", o.faults.sma_queue, "MADs waiting at an SMA")
      ->check(whole_number_to(kQueueMax));
  app.add_option("--vl15-buffer", o.faults.vl15_buffer, "MADs on a link in one direction")
      ->check(whole_number_to(kQueueMax));
  app.add_option("--rcv-queue", o.faults.receive_queue, "receive slots of a host's QP0 and QP1")
      ->check(whole_number_to(kQueueMax));
  app.add_flag("-v,--verbose", o.verbose, "say what is odd in the topology");
}

/// The words of `ctl`: one subcommand each, filled into `command`.
struct CtlOptions {
  std::string socket;
  CtlCommand command;
  std::string form;  // what the verb wants, and how many words that is
  std::size_t words_min{0}, words_max{0};
  std::vector<std::string> link;
  std::string loss, duplicate, delay_ms, sma_us, sma_queue, vl15_buffer, rcv_queue;
};

void add_ctl(CLI::App& ctl, CtlOptions& o) {
  ctl.add_option("--socket", o.socket, "of the server")->envname(kEnvSocket)->required();
  ctl.require_subcommand(1);
  ctl.footer("Words of a verb that begin with - follow after --");
  // Words are counted after parsing: CLI11 would complain of its own name for them.
  const auto verb = [&](const char* name, const char* what, std::size_t min, std::size_t max,
                        const char* words) {
    CLI::App* sub = ctl.add_subcommand(name, what);
    if (max > 0) {
      sub->add_option("words", o.command.words)
          ->option_text(words)
          ->expected(0, CLI::detail::expected_max_vector_size);
    }
    sub->add_flag("--json", o.command.json, "answer in JSON");
    sub->callback([&o, name, min, max, words] {
      o.command.verb = name;
      o.form = words;
      o.words_min = min;
      o.words_max = max;
    });
    return sub;
  };
  verb("link", "pull or plug a cable", 3, 3, "down|up NODE PORT");
  verb("node", "what happens to a node", 2, 2, "reboot|remove|return|silent|garbage|normal NODE");
  verb("cable", "plug a cable in elsewhere", 5, 5, "move NODE PORT NODE2 PORT2");
  verb("seed", "start the dice anew", 1, 1, "N");
  verb("show", "a node's or port's state", 1, 2, "NODE [PORT]");
  verb("pcap", "capture for Wireshark", 1, 1, "FILE|off");
  verb("stats", "MADs by class, method, attribute", 0, 0, "");
  CLI::App* faults = verb("faults", "loss, delay, slow devices", 0, 0, "");
  faults->add_option("--link", o.link, "of one cable only")->expected(2)->type_name("NODE PORT");
  faults->add_option("--loss", o.loss, "per cent")->type_name("PCT");
  faults->add_option("--duplicate", o.duplicate, "per cent")->type_name("PCT");
  faults->add_option("--delay-ms", o.delay_ms, "added to every MAD")->type_name("N");
  faults->add_option("--sma-us", o.sma_us, "time an SMA takes for one MAD")->type_name("N");
  faults->add_option("--sma-queue", o.sma_queue, "MADs waiting at an SMA")->type_name("N");
  faults->add_option("--vl15-buffer", o.vl15_buffer, "MADs on a link")->type_name("N");
  faults->add_option("--rcv-queue", o.rcv_queue, "receive slots of a QP")->type_name("N");
}

/// `ibfabric VERB: MESSAGE`, and where help is.
int complain_of_usage(const CLI::App& app, const std::string& message, int status, bool json) {
  std::string program = app.get_name();
  std::vector<std::string> choices;
  const CLI::App* at = &app;
  for (auto parsed = at->get_subcommands(); !parsed.empty(); parsed = at->get_subcommands()) {
    at = parsed.front();
    program += " " + at->get_name();
  }
  std::string text = message;
  if (at->get_require_subcommand_min() > 0 && at->get_subcommands().empty()) {
    text = "expected";
    for (const CLI::App* sub : at->get_subcommands({})) {
      text += (text == "expected" ? " " : "|") + sub->get_name();
    }
    const auto words = at->remaining();
    text += words.empty() ? ", got nothing" : ", got '" + ib::printable(words.front()) + "'";
  }
  std::fprintf(stderr, "%s: %s\nTry '%s --help'.\n", program.c_str(), text.c_str(),
               program.c_str());
  if (json)
    std::cout << ib::report::failure_document(kSchema, "ibfabric", IBKIT_VERSION,
                                              {ErrorKind::Usage, text, 0}, status)
              << std::flush;
  return status;
}

CtlCommand command_of(const CtlOptions& o) {
  CtlCommand command = o.command;
  if (command.verb == "faults") command.words = o.link;
  const std::pair<const char*, const std::string*> all[] = {
      {"loss", &o.loss},          {"duplicate", &o.duplicate}, {"delay-ms", &o.delay_ms},
      {"sma-us", &o.sma_us},      {"sma-queue", &o.sma_queue}, {"vl15-buffer", &o.vl15_buffer},
      {"rcv-queue", &o.rcv_queue}};
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
  // Everything after `--` belongs to COMMAND, `gen` reads its words itself: neither is for CLI11.
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "gen") return generate({words.begin() + 1, words.end()});
  const auto dashes = std::find(words.begin(), words.end(), "--");
  const std::vector<std::string> command(dashes == words.end() ? dashes : dashes + 1, words.end());
  words.erase(dashes, words.end());

  CLI::App app("A simulated InfiniBand fabric to learn, test and plan on", "ibfabric");
  app.set_version_flag("-V,--version", std::string("ibfabric ") + IBKIT_VERSION);
  app.require_subcommand(1);
  ServeOptions options;
  CtlOptions ctl_options;
  std::string exec_socket;

  CLI::App* run_app = app.add_subcommand("run", "serve a fabric and run a command in it");
  add_serve_options(*run_app, options);
  run_app->add_option("--at", options.at, "where the command runs")->type_name("NODE[:PORT]");
  run_app->footer("-- COMMAND...  follows the options");
  CLI::App* serve_app = app.add_subcommand("serve", "serve a fabric until SIGTERM");
  add_serve_options(*serve_app, options);
  serve_app->add_option("--socket", options.socket, "where to listen")->required();
  CLI::App* exec_app = app.add_subcommand("exec", "run a command in a fabric that is served");
  exec_app->add_option("--socket", exec_socket, "of the server")->envname(kEnvSocket)->required();
  exec_app->add_option("--at", options.at, "where the command runs")->type_name("NODE[:PORT]");
  exec_app->footer("-- COMMAND...  follows the options");
  CLI::App* ctl_app = app.add_subcommand("ctl", "change or look at a fabric that is served");
  add_ctl(*ctl_app, ctl_options);
  app.add_subcommand("gen", "write a topology: gen --help");

  const bool json = std::find(words.begin(), words.end(), "--json") != words.end();
  const int usage = !words.empty() && words[0] == "run" ? kRunFailed : kUsage;
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return error.get_exit_code() == 0 ? finish(app.exit(error))
                                      : complain_of_usage(app, error.what(), usage, json);
  }
  // `ctl` runs no command: what follows `--` are its words, however much they look like options.
  auto& ctl_words = ctl_options.command.words;
  if (ctl_app->parsed()) ctl_words.insert(ctl_words.end(), command.begin(), command.end());
  if (const auto n = ctl_words.size(); n < ctl_options.words_min || n > ctl_options.words_max) {
    const std::string form = ctl_options.form.empty() ? "no words" : ctl_options.form;
    return complain_of_usage(app, "expected " + form + ", got " + std::to_string(n) + " words",
                             usage, json);
  }
  if ((run_app->parsed() || exec_app->parsed()) && command.empty()) {
    std::fputs("ibfabric: expected -- COMMAND\n", stderr);
    return usage;
  }
  std::signal(SIGPIPE, SIG_DFL);  // whatever it was: commands get it so
  if (run_app->parsed()) return run(options, command);
  if (serve_app->parsed()) return serve(options);
  if (exec_app->parsed()) return execute(exec_socket, options.at, command);
  return control(ctl_options.socket, command_of(ctl_options));
}
