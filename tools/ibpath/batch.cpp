// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tools/ibpath/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "libdiag/base/text.h"
#include "libdiag/cli/exit_status.h"
#include "libdiag/fabric/text_file.h"
#include "tools/common/sa_names.h"
#include "tools/ibpath/report.h"

namespace ibpath {
namespace {

using ib::ErrorKind;
using ib::Gid;
using ib::Guid;
using ib::Lid;
using ib::Result;
using ib::wire::NodeRecord;
using ib::wire::PathRecord;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// A line cut into words; a comment is left off.
struct CutLine {
  std::vector<std::string> words;
  std::vector<std::size_t> columns;       // where each begins, from 1
  std::optional<std::size_t> open_quote;  // where a quotation mark is that is not closed
};

CutLine words_of(std::string_view line) {
  CutLine cut;
  std::size_t at = 0;
  while (true) {
    while (at < line.size() && is_blank(line[at])) ++at;
    if (at == line.size() || line[at] == '#') return cut;
    cut.columns.push_back(at + 1);
    std::string word;
    bool quoted = false;
    std::size_t quote = 0;
    for (; at < line.size() && (quoted || !is_blank(line[at])); ++at) {
      if (line[at] == '"') {
        quoted = !quoted;
        quote = at;
      } else {
        word += line[at];
      }
    }
    if (quoted) cut.open_quote = quote + 1;
    cut.words.push_back(std::move(word));
  }
}

/// Which word it was that read_pair() refused.
std::size_t wrong_word(const std::vector<std::string>& words, const Options& options) {
  if (!ib::tools::parse_target(words[0])) return 0;
  // What is refused is refused however many conditions follow.
  std::size_t good = 0, bad = words.size() - 1;
  while (bad - good > 1) {
    const std::size_t middle = good + (bad - good) / 2;
    const auto pair = read_pair(words[0], words[1], Words(words).subspan(2, middle - 1), options);
    (pair ? good : bad) = middle;
  }
  return bad;
}

Result<std::string> read_all(const std::string& file) {
  std::string text;
  if (file == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
    if (std::cin.bad()) return ib::fail(ErrorKind::Usage, "reading standard input failed");
    return text;
  }
  return ib::fabric::read_file_or_pipe(file);
}

/// Where nodes are, from one table: a batch may name thousands of them.
class Directory {
 public:
  static Result<Directory> read(CommandContext& context) {
    const auto nodes = context.table(NodeRecord{}, 0);
    if (!nodes) return tl::unexpected(nodes.error());
    Directory directory(context.facts().gid_prefix, context.names());
    for (const NodeRecord& node : *nodes) {
      directory.ports_.insert(node.node_info.port_guid);
      directory.by_node_[node.node_info.node_guid].push_back(node.node_info.port_guid);
      const auto& text = node.node_description.text;
      const std::string_view name{text.data(), text.size()};
      directory.by_name_[std::string(name.substr(0, name.find('\0')))].insert(
          node.node_info.node_guid);
    }
    directory.nodes_ = *nodes;
    return directory;
  }

  Result<std::vector<End>> find(Guid guid) const {
    if (ports_.contains(guid)) return ends({guid});
    if (const auto node = by_node_.find(guid); node != by_node_.end()) return ends(node->second);
    return ib::fail(ErrorKind::NotFound,
                    fmt::format("the SA knows no port or node of GUID {}", to_string(guid)));
  }
  /// By any name of the node, as everywhere; NodeDescriptions, which are most of them, at once.
  Result<std::vector<End>> find(const std::string& name) const {
    const auto nodes = by_name_.find(name);
    if (nodes != by_name_.end() && nodes->second.size() == 1 && names_->size() == 0)
      return ends(by_node_.at(*nodes->second.begin()));
    const auto found = ib::tools::find_among_node_records(nodes_, name, *names_);
    if (!found) return tl::unexpected(found.error());
    std::vector<Guid> ports;
    for (const NodeRecord& node : *found) ports.push_back(node.node_info.port_guid);
    return ends(ports);
  }

 private:
  Directory(std::uint64_t prefix, const ib::fabric::NodeNames& names)
      : prefix_(prefix), names_(&names) {}
  std::vector<End> ends(const std::vector<Guid>& ports) const {
    std::vector<End> all;
    all.reserve(ports.size());
    for (const Guid port : ports) all.push_back({std::nullopt, Gid::from(prefix_, port)});
    return all;
  }
  std::uint64_t prefix_;
  const ib::fabric::NodeNames* names_;
  std::vector<NodeRecord> nodes_;
  std::unordered_set<Guid> ports_;
  std::unordered_map<Guid, std::vector<Guid>> by_node_;
  std::unordered_map<std::string, std::set<Guid>> by_name_;
};

bool needs_directory(const ib::tools::Target& target) {
  return std::holds_alternative<Guid>(target) ||
         std::holds_alternative<ib::tools::NodeName>(target);
}

Result<std::vector<End>> ends_of(CommandContext& context, const std::optional<Directory>& directory,
                                 const ib::tools::Target& target) {
  if (const auto* guid = std::get_if<Guid>(&target)) return directory->find(*guid);
  if (const auto* name = std::get_if<ib::tools::NodeName>(&target))
    return directory->find(name->text);
  return resolve(context, target);
}

/// What comes of a line: the queries [first, first + count), or why there are none.
struct Work {
  std::size_t first{}, count{};
  std::optional<ib::Error> error;
};

/// Writes each line's paths as soon as those of all lines before it are written; a JSON document,
/// which begins with whether it is complete, at the end.
class Printer {
 public:
  Printer(const std::vector<BatchLine>& lines, const std::vector<Work>& work,
          const Options& options)
      : lines_(lines), work_(work), options_(options) {
    flush();
  }

  void take(PathBatch::Answer answer) {
    ++answers_;
    if (!answer && answer.error().mad_status == ib::wire::status::kSaNoRecords)
      answer = std::vector<PathRecord>{};
    if (answer) {
      now_.paths.insert(now_.paths.end(), answer->begin(), answer->end());
    } else if (now_.error.empty()) {
      now_.error = answer.error().message;
      now_.unanswered = answer.error().mad_status != ib::wire::status::kSaInvalidGid;
    }
    flush();
  }

  /// Exit status of the whole.
  int end() {
    if (options_.common.json) print(json_batch(answers_kept_, IBKIT_VERSION));
    if (unanswered_) return ib::cli::kExitIncomplete;
    return all_have_paths_ ? ib::cli::kExitGood : ib::cli::kExitFound;
  }

 private:
  void flush() {
    while (line_ < lines_.size() && answers_ == work_[line_].first + work_[line_].count) {
      const BatchLine& line = lines_[line_];
      const auto& error = work_[line_].error;
      now_.line = line.number;
      now_.source = line.pair.source_word;
      now_.destination = line.pair.destination_word;
      if (error) {
        now_.error = error->message;
        now_.unanswered = error->kind != ErrorKind::NotFound && error->kind != ErrorKind::Usage;
      }
      unanswered_ = unanswered_ || now_.unanswered;
      all_have_paths_ = all_have_paths_ && !now_.paths.empty();
      if (options_.common.json) {
        answers_kept_.push_back(std::move(now_));
      } else {
        print(text_batch_answer(now_, options_.common.verbose > 0));
      }
      now_ = {};
      ++line_;
    }
  }

  const std::vector<BatchLine>& lines_;
  const std::vector<Work>& work_;
  const Options& options_;
  std::size_t line_{0}, answers_{0};
  bool unanswered_{false}, all_have_paths_{true};
  BatchAnswer now_;
  std::vector<BatchAnswer> answers_kept_;
};

Result<int> run(CommandContext& context, const std::vector<BatchLine>& lines) {
  std::optional<Directory> directory;
  if (std::ranges::any_of(lines, [](const BatchLine& line) {
        return needs_directory(line.pair.source) || needs_directory(line.pair.destination);
      })) {
    auto read = Directory::read(context);
    if (!read) return tl::unexpected(read.error());
    directory = std::move(*read);
  }
  std::vector<PathQuery> queries;
  std::vector<Work> work;
  for (const BatchLine& line : lines) {
    Work one{queries.size(), 0, std::nullopt};
    const auto sources = ends_of(context, directory, line.pair.source);
    const auto destinations = ends_of(context, directory, line.pair.destination);
    if (!sources || !destinations) {
      one.error = sources ? destinations.error() : sources.error();
      // Somebody whom nobody knows is an answer; an SA that is silent ends it.
      if (one.error->kind == ErrorKind::Unavailable) return tl::unexpected(*one.error);
    } else {
      for (const End& source : *sources)
        for (const End& destination : *destinations)
          queries.push_back(path_query(source, destination, line.pair.query));
    }
    one.count = queries.size() - one.first;
    work.push_back(std::move(one));
  }
  Printer printer(lines, work, context.options());
  PathBatch batch(context.sa().address(), std::move(queries), context.options().common.outstanding,
                  [&](std::size_t, PathBatch::Answer answer) { printer.take(std::move(answer)); });
  while (true) {
    if (auto ok = context.session().run(batch); !ok) return tl::unexpected(ok.error());
    if (batch.finished()) return printer.end();
    if (auto ok = ib::query::take_rest(context.session(), batch.rest()); !ok)
      return tl::unexpected(ok.error());
  }
}

}  // namespace

BatchFile read_batch(std::string_view text, const std::string& file, const Options& options) {
  BatchFile batch;
  std::size_t number = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    const auto complain = [&](std::size_t column, const std::string& what) {
      batch.complaints.push_back(
          fmt::format("{}:{}:{}: {}", ib::printable(file), number, column, what));
    };
    const auto [words, columns, open_quote] = words_of(line);
    if (open_quote) {
      complain(*open_quote, "expected a closing quote, got the end of the line");
      continue;
    }
    if (words.empty()) continue;
    if (words.size() == 1) {
      complain(columns[0],
               fmt::format("expected SRC DST, got '{}' alone", ib::printable(words[0])));
      continue;
    }
    auto pair = read_pair(words[0], words[1], Words(words).subspan(2), options);
    if (!pair) {
      complain(columns[wrong_word(words, options)], pair.error().message);
      continue;
    }
    batch.lines.push_back({number, std::move(*pair)});
  }
  return batch;
}

PathBatch::PathBatch(const ib::query::SaAddress& sa, std::vector<PathQuery> queries,
                     std::size_t window, Deliver deliver)
    : sa_(sa),
      queries_(std::move(queries)),
      window_(std::max<std::size_t>(window, 1)),
      window_max_(window_),
      deliver_(std::move(deliver)) {}

ib::mad::Request PathBatch::request(std::size_t index) {
  ++in_flight_;
  const PathQuery& query = queries_[index];
  return ib::query::sa_request(index, sa_, ib::wire::Method::GetTable, query.record, query.mask);
}

std::vector<ib::mad::Request> PathBatch::take_requests() {
  std::vector<ib::mad::Request> requests;
  while (in_flight_ < window_ && !again_.empty()) {
    requests.push_back(request(again_.front()));
    again_.pop_front();
  }
  // Nothing new while the SA is busy; and what is held back for its turn is bounded.
  while (kept_.empty() && in_flight_ < window_ && sent_ < queries_.size() &&
         waiting_.size() < 2 * window_max_) {
    requests.push_back(request(sent_++));
    waiting_.emplace_back();
  }
  return requests;
}

ib::Duration PathBatch::rest() {
  again_.insert(again_.end(), kept_.begin(), kept_.end());
  kept_.clear();
  return rests_.rest(rested_++);
}

void PathBatch::on_completion(ib::Instant, const ib::mad::Completion& completion) {
  const auto index = static_cast<std::size_t>(completion.cookie);
  --in_flight_;
  if (completion.reply && ib::query::is_busy(*completion.reply) && rested_ < rests_.most) {
    window_ = std::max<std::size_t>(window_ / 2, 1);
    kept_.push_back(index);
    return;
  }
  rested_ = 0;
  window_ = std::min(window_ + 1, window_max_);
  waiting_[index - delivered_] =
      completion.reply
          ? ib::query::read_table<PathRecord>(*completion.reply)
          : Answer(tl::unexpected(ib::query::unanswered(completion.reply.error(), sa_)));
  while (!waiting_.empty() && waiting_.front()) {
    deliver_(delivered_, std::move(*waiting_.front()));
    waiting_.pop_front();
    ++delivered_;
  }
}

Result<Job> plan_batch(const Options& options, Words words) {
  if (words.size() != 1)
    return ib::fail(ErrorKind::Usage, "batch: expected FILE, or - for standard input");
  const std::string& file = words[0];
  const auto text = read_all(file);
  if (!text) return tl::unexpected(text.error());
  auto batch = read_batch(*text, file == "-" ? "standard input" : file, options);
  if (!batch.complaints.empty()) {
    std::string all;
    for (const auto& complaint : batch.complaints) all += (all.empty() ? "" : "\n") + complaint;
    return ib::fail(ErrorKind::Usage, all);
  }
  return Job(
      [lines = std::move(batch.lines)](CommandContext& context) { return run(context, lines); });
}

}  // namespace ibpath
