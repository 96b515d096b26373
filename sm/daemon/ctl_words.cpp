// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/ctl_words.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <thread>

#include "libdiag/base/text.h"
#include "libdiag/cli/exit_status.h"
#include "sm/control/client.h"
#include "sm/daemon/failure_documents.h"

namespace sm::daemon {
namespace {

constexpr const char* kPartitionFooter =
    "  add P_KEY PORT...     makes ports members: a GUID, which may come to the fabric later, or "
    "NODE[:PORT]\n"
    "  remove P_KEY PORT...  takes members away that were added so\n"
    "  list                  every member that was added, and what became of it: programmed (its "
    "port\n"
    "                        holds the P_Key), waiting, absent, or refused with the reason\n\n"
    "Members outlive a restart of ibsm and every reading of the partition file.\n"
    "Exit status: 0 done, 1 some were refused, 2 usage, 4 no ibsm, or it could not.";

constexpr const char* kCountersFooter =
    "  list [NODE [PORT]]    totals of all ports, of a node (name or GUID), or of one port\n"
    "  history [NODE [PORT]] what they counted in each window of time that is kept (an hour each)\n"
    "  dump [mach]           the same into opensm_port_counters.log; mach: a table\n"
    "  sweep                 read the counters now\n"
    "  clear                 totals begin at 0; what devices hold stays as it is\n\n"
    "Exit status: 0 done, 1 nothing is known, 2 usage, 4 no ibsm, or it reads no counters.";

constexpr const char* kSaFooter =
    "  (nothing)           the limits in force, and what was counted\n"
    "  set NAME=VALUE...   max_outstanding, queue_size, time_sa_mad (ms), rx_threshold; until ibsm "
    "ends\n"
    "  reset               sets the counters to 0\n\n"
    "Exit status: 0 done, 2 usage (nothing was changed), 4 no ibsm, or it could not.";

constexpr const char* kExplainFooter =
    "SRC and DST: a LID, the GUID of a port or node, or NODE[:PORT].\n"
    "Exit status: 0 a path that works, 1 none, or one whose packets are dropped, 2 usage, 4 no "
    "ibsm.";

constexpr const char* kConsoleFooter =
    "  help      the commands: those of opensm's console\n\n"
    "Exit status: 0 done, 1 there is no such node or LID, 2 usage, 4 no ibsm, or it could not.";

/// What the daemon says of a request that it does not fulfil.
ib::Error error_of(const control::Answer& answer) {
  const auto kind = answer.status == ib::cli::kExitFound   ? ib::ErrorKind::NotFound
                    : answer.status == ib::cli::kExitUsage ? ib::ErrorKind::Usage
                                                           : ib::ErrorKind::Unavailable;
  return {kind, std::string(ib::trim(answer.text)), 0};
}

/// The number of the last event of an answer, whichever its form.
std::string last_number(std::string_view text) {
  if (text.empty()) return {};
  const auto line = text.substr(text.rfind('\n', text.size() - 2) + 1);
  constexpr std::string_view kNumber = "\"number\":";  // of a line of JSON
  const auto member = line.find(kNumber);
  const auto digits = member == std::string_view::npos ? 0 : member + kNumber.size();
  return std::string(line.substr(digits, line.find_first_not_of("0123456789", digits) - digits));
}

}  // namespace

int CtlWords::refuse(const control::Request& request, const ib::Error& error, int status) const {
  ib::cli::complain("ibsm ctl", error.message, status);
  if (json_) {
    const std::string document = request_failure(request, version_, error);
    std::fwrite(document.data(), 1, document.size(), stdout);
  }
  return status;
}

ib::cli::CommandLine& CtlWords::add_verb(ib::cli::CommandLine& line, const char* name,
                                         const char* purpose) {
  auto& verb = line.verb(name, purpose);
  verb.text("--socket", socket_, "PATH",
            "Control socket of ibsm (default: in the state directory)");
  verb.text("--state-dir", state_dir_, "DIR", "State directory of ibsm, as it was started with");
  // Words that were read before the one that is wrong tell which document there is none of.
  verb.documents([this, name](const ib::Error& error) {
    return request_failure({name, words_, {}}, version_, error);
  });
  verbs_.emplace_back(name, &verb);
  return verb;
}

void CtlWords::add_to(ib::cli::CommandLine& line) {
  auto& sa = add_verb(line, "sa", "Limits and counters of subnet administration");
  sa.flag("--json", json_, "Answer in JSON");
  sa.operands("WORDS", words_, "set or reset, and what follows");
  sa.footer(kSaFooter);
  auto& partition =
      add_verb(line, "partition", "Add members to partitions, take them away, list them");
  partition.text("--owner", owner_, "TAG", "Who adds: another owner cannot change these members");
  partition.flag("--limited", limited_, "Limited members (default: full)");
  partition.flag("--both", both_, "Full and limited P_Key (allow_both_pkeys)");
  partition.flag("--json", json_, "Answer in JSON");
  partition.operands("WORDS", words_, "add, remove or list, and what follows");
  partition.footer(kPartitionFooter);
  auto& counters = add_verb(line, "counters", "What the ports have counted (with --perfmgr)");
  counters.flag("--errors", errors_, "Ports with errors, and what they counted");
  counters.flag("--json", json_, "The answer as JSON; lists with rates");
  counters.operands("WORDS", words_, "list, history, dump, sweep or clear, and what follows");
  counters.footer(kCountersFooter);
  auto& managers =
      add_verb(line, "sm", "Which subnet managers there are, who is master, since when and why");
  managers.flag("--json", json_, "As JSON");
  add_verb(line, "pause", "Ask devices nothing and set nothing, until resume")
      .footer(
          "What is under way is finished, and what happens meanwhile is remembered. Exit "
          "status: 0 done, 2 usage, 4 no ibsm.");
  add_verb(line, "resume", "Go on after pause").footer("Exit status: 0 done, 2 usage, 4 no ibsm.");
  add_verb(line, "rewrite", "Send all that devices are to hold once more, whatever they report")
      .footer("Exit status: 0 done, 2 usage, 4 no ibsm, or it is not master.");
  auto& enable = add_verb(line, "enable", "Enable a port that is disabled");
  enable.operands("NODE:PORT", words_, 1, 1);
  enable.footer(
      "Such as one that babbling_port_policy has disabled. Exit status: 0 asked for (the log says "
      "what\nbecame of it), 1 no such port, 2 usage, 4 no ibsm, or it is not master.");
  auto& console = add_verb(line, "console", "A command of the console");
  console.operands("WORDS", words_, "the command, and what follows");
  console.footer(kConsoleFooter);
  auto& explain =
      add_verb(line, "explain", "Who decides what of the path between two ports of the subnet");
  explain.text("--service-id", service_id_, "N", "For traffic of this service ID");
  explain.text("--pkey", p_key_, "K", "... in this partition");
  explain.text("--qos-class", qos_class_, "N", "... of this QoS class");
  explain.flag("--json", json_, "As JSON");
  explain.operands("SRC DST", words_, 2, 2);
  explain.footer(kExplainFooter);
  auto& events = add_verb(line, "events", "What changed in the subnet: the last 10,000 events");
  events.flag("--follow", follow_, "Go on with what happens from now on");
  events.flag("--json", json_, "A line of JSON for each");
  events.text("--since", since_, "NUMBER", "Those after that number");
  events.operands("NUMBER", words_, "The same");
  events.footer("Names and fields: doc/events.md. Exit status: 0 done, 2 usage, 4 no ibsm.");
}

/// Prints what is new, again and again, until ibsm has not answered for ten seconds or the reader
/// is gone. Where ibsm was started again, its numbers begin at 1 again: all that it has is new.
int CtlWords::follow(const std::string& socket, control::Request request) const {
  constexpr auto kPause = std::chrono::milliseconds(500);
  constexpr auto kSilence = std::chrono::seconds(10);
  request.options["follow"] = "";
  for (auto heard = std::chrono::steady_clock::now();;) {
    const auto answer = control::ask(socket, request, kSilence);
    if (!answer) {
      if (request.option("follow").empty())
        return refuse(request, answer.error(), ib::cli::kExitCannotRun);
      // Lines were printed: a document of the failure would be no line of theirs.
      if (std::chrono::steady_clock::now() - heard >= kSilence)
        return ib::cli::complain("ibsm ctl", answer.error().message, ib::cli::kExitCannotRun);
      std::this_thread::sleep_for(kPause);
      continue;
    }
    heard = std::chrono::steady_clock::now();
    if (answer->status != 0) return refuse(request, error_of(*answer), answer->status);
    const auto end_of_epoch = std::min(answer->text.find('\n'), answer->text.size());
    const std::string epoch = answer->text.substr(0, end_of_epoch);
    const std::string text = answer->text.substr(std::min(end_of_epoch + 1, answer->text.size()));
    const bool is_another = !request.option("follow").empty() && request.option("follow") != epoch;
    request.options["follow"] = epoch;
    if (is_another) request.words = {"0"};
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
      return ib::cli::kExitGood;
    if (const std::string last = last_number(text); !last.empty()) request.words = {last};
    std::this_thread::sleep_for(kPause);
  }
}

int CtlWords::run(const std::string& default_socket) const {
  control::Request request{{}, words_, {}};
  for (const auto& [name, line] : verbs_)
    if (line->chosen()) request.verb = name;
  if (!owner_.empty()) request.options["owner"] = owner_;
  for (const auto& [given, name] :
       {std::pair(limited_, "limited"), {both_, "both"}, {json_, "json"}, {errors_, "errors"}})
    if (given) request.options[name] = "TRUE";
  for (const auto& [value, name] :
       {std::pair(&service_id_, "service-id"), {&p_key_, "pkey"}, {&qos_class_, "qos-class"}})
    if (!value->empty()) request.options[name] = *value;
  if (!since_.empty()) request.words.insert(request.words.begin(), since_);
  const std::string& socket = socket_.empty() ? default_socket : socket_;
  if (follow_) return follow(socket, std::move(request));
  const auto answer = control::ask(socket, request);
  if (!answer) return refuse(request, answer.error(), ib::cli::kExitCannotRun);
  // What is printed of something that was found is a document, or text where none was asked for.
  const bool document = answer->text.starts_with('{');
  if (answer->status > ib::cli::kExitFound ||
      (answer->status == ib::cli::kExitFound && json_ && !document))
    return refuse(request, error_of(*answer), answer->status);
  const std::string& text = answer->text;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return ib::cli::complain("ibsm ctl", "cannot write the answer", ib::cli::kExitCannotRun);
  return answer->status;
}

}  // namespace sm::daemon
