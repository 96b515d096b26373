// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/route/files.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "libdiag/base/diagnostic.h"
#include "libdiag/base/text.h"
#include "libdiag/fabric/text_file.h"

namespace ib::route {
namespace {

constexpr std::string_view kBlanks = " \t\r\f\v";
constexpr std::uint64_t kPortMax = 254;
/// Lists of all ports there can be take a few megabytes, tables of all switches some gigabytes.
constexpr std::size_t kListBytesMax = std::size_t{64} << 20;
constexpr std::size_t kTableBytesMax = std::size_t{8} << 30;
constexpr std::size_t kMistakesMax = 200;  // that are said of one file

/// Each mistake with its line and a caret under the place.
tl::unexpected<Error> refused(std::span<const Diagnostic> mistakes, std::string_view text) {
  std::string message;
  for (const Diagnostic& mistake : mistakes)
    message += (message.empty() ? "" : "\n") + with_caret(mistake, text);
  return fail(ErrorKind::Usage, std::move(message));
}

/// One line, word by word. The first complaint is kept; after it every answer is a zero.
class Line {
 public:
  Line(const std::string& file, std::uint32_t number, std::string_view text)
      : file_(file), number_(number), text_(text), rest_(text) {
    skip_blanks();
    last_ = column();
  }

  std::uint32_t number() const { return number_; }
  /// Nothing but a comment is left.
  bool at_end() const { return rest_.empty() || rest_.front() == '#'; }
  bool good() const { return !error_; }
  const std::optional<Diagnostic>& error() const { return error_; }

  std::string_view word() {
    const std::string_view w = rest_.substr(0, word_length());
    last_ = column();
    rest_.remove_prefix(w.size());
    skip_blanks();
    return w;
  }
  Guid guid(std::string_view what) {
    Guid value;
    const std::string_view w = peek();
    // Zero is what a slip of the pen leaves; no node has it.
    if (!good() || w.empty() || !parse_guid(w, value) || value.value == 0) {
      expect(std::string(what) + " like 0x0002c90300a1b2c3");
      return {};
    }
    word();
    return value;
  }
  std::uint64_t number(std::string_view what, std::uint64_t min, std::uint64_t max) {
    std::uint64_t value = 0;
    if (!good() || !parse_number(peek(), max, value) || value < min) {
      std::string range = max == std::numeric_limits<std::uint64_t>::max()
                              ? std::string()
                              : " from " + std::to_string(min) + " to " + std::to_string(max);
      expect(std::string(what) + range);
      return 0;
    }
    word();
    return value;
  }
  std::uint8_t port() { return static_cast<std::uint8_t>(number("a port number", 1, kPortMax)); }
  int offset() {
    std::string_view w = peek();
    if (w.starts_with('+')) w.remove_prefix(1);
    int value = 0;
    const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), value);
    if (!good() || w.empty() || error != std::errc{} || end != w.data() + w.size() ||
        std::abs(static_cast<long>(value)) > kLidUnicastMax.value) {
      expect("a whole number, which may be negative");
      return 0;
    }
    word();
    return value;
  }
  bool next_is_number() const {
    const std::string_view w = peek();
    return !w.empty() && w.front() >= '0' && w.front() <= '9';
  }
  void expect(const std::string& what) {
    if (!good()) return;
    const std::string got =
        at_end() ? "the end of the line" : "'" + printable(peek().substr(0, 40)) + "'";
    last_ = column();
    complain("expected " + what + ", got " + got);
  }
  void expect_end() {
    if (!at_end()) expect("a comment or the end of the line");
  }
  /// Of the word that was read last.
  void complain(const std::string& what) {
    if (good())
      error_ = {Severity::Error, file_, {number_, static_cast<std::uint32_t>(last_)}, what};
  }

 private:
  std::size_t word_length() const {
    return std::min(rest_.find_first_of(" \t\r\f\v#"), rest_.size());
  }
  std::string_view peek() const { return rest_.substr(0, word_length()); }
  /// Where `rest_` begins, from 1.
  std::size_t column() const { return text_.size() - rest_.size() + 1; }
  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size()));
  }

  const std::string& file_;
  std::uint32_t number_;
  std::string_view text_, rest_;
  std::size_t last_{1};  // column of the word a complaint is about
  std::optional<Diagnostic> error_;
};

/// Complains when a key comes a second time.
template <class Key>
class Once {
 public:
  bool first(Line& line, const Key& key, const std::string& what) {
    const auto [at, fresh] = seen_.emplace(key, line.number());
    if (!fresh)
      line.complain("duplicate " + what + " (first on line " + std::to_string(at->second) + ')');
    return fresh;
  }

 private:
  std::map<Key, std::uint32_t> seen_;
};

/// Runs `read(line)` for every line that says something, whatever is wrong with those before.
template <class Read>
Result<void> each_line(std::string_view text, const std::string& file, Read&& read) {
  std::vector<Diagnostic> mistakes;
  std::uint32_t number = 0;
  for (const std::string_view words : split(text, '\n')) {
    Line line(file, ++number, words);
    if (line.at_end()) continue;
    read(line);
    if (line.error()) mistakes.push_back(*line.error());
    if (mistakes.size() == kMistakesMax) break;
  }
  if (!mistakes.empty()) return refused(mistakes, text);
  return {};
}

/// Lines of a GUID and, as opensm has it, anything behind it.
Result<Mentions> read_list(OptionFile which, std::string_view text, const std::string& file,
                           GuidList& list) {
  using Means = Mention::Means;
  const bool ranks = which == OptionFile::Roots;
  const bool numbers = which == OptionFile::Ids;
  const bool no_hosts = which == OptionFile::NoHosts;
  const Means means = ranks      ? Means::SwitchOrHost
                      : numbers  ? Means::Switch
                      : no_hosts ? Means::Host
                                 : Means::EndPort;
  const std::string_view what = ranks      ? "the GUID of a switch or host"
                                : numbers  ? "the GUID of a switch"
                                : no_hosts ? "the GUID of a node or port"
                                           : "a port GUID";
  list = {};
  list.file = file;
  Mentions mentions{file, which, {}};
  Once<Guid> once;
  Once<std::uint64_t> once_number;
  auto done = each_line(text, file, [&](Line& line) {
    GuidList::Entry entry;
    entry.guid = line.guid(what);
    entry.line = line.number();
    if (!line.good() || !once.first(line, entry.guid, "GUID " + to_string(entry.guid))) return;
    if (ranks && line.next_is_number())
      entry.rank = static_cast<std::uint8_t>(line.number("a rank", 0, 255));
    if (numbers) {
      entry.number = line.number("a number", 0, std::numeric_limits<std::uint64_t>::max());
      // Two equal ids would leave the direction of a link between them open.
      if (line.good())
        once_number.first(line, *entry.number, "id " + std::to_string(*entry.number));
    }
    mentions.places.push_back({means, entry.guid, line.number(), {}});
    list.entries.push_back(entry);
  });
  if (!done) return tl::unexpected<Error>(std::move(done.error()));
  return mentions;
}

Result<Mentions> read_ports(OptionFile which, std::string_view text, const std::string& file,
                            Options& options) {
  using Means = Mention::Means;
  Mentions mentions{file, which, {}};
  Once<PortName> once;
  auto done = each_line(text, file, [&](Line& line) {
    const bool ignored = which == OptionFile::Ignored;
    const Guid guid = line.guid(ignored ? "the GUID of a node" : "the GUID of a switch");
    if (ignored && line.good() && line.at_end()) {
      // An end port by its port GUID, as the manual of 2008 has it.
      if (!once.first(line, {guid, 0}, "GUID " + to_string(guid))) return;
      options.ignored[{guid, 0}] = true;
      mentions.places.push_back({Means::EndPort, guid, line.number(), {}});
      return;
    }
    const std::uint8_t port = line.port();
    if (!line.good()) return;
    const PortName name{guid, port};
    if (!once.first(line, name, "GUID " + to_string(guid) + " port " + std::to_string(port)))
      return;
    if (ignored) {
      options.ignored[name] = true;
    } else {
      options.hop_weights[name] = static_cast<std::uint8_t>(line.number("a weight", 0, 255));
    }
    line.expect_end();
    mentions.places.push_back({ignored ? Means::Node : Means::Switch, guid, line.number(), {port}});
  });
  if (!done) return tl::unexpected<Error>(std::move(done.error()));
  return mentions;
}

Result<Mentions> read_search_order(std::string_view text, const std::string& file,
                                   Options& options) {
  Mentions mentions{file, OptionFile::PortSearchOrder, {}};
  Once<Guid> once;
  auto done = each_line(text, file, [&](Line& line) {
    const Guid guid = line.guid("the GUID of a switch");
    if (!line.good() || !once.first(line, guid, "GUID " + to_string(guid))) return;
    std::vector<std::uint8_t> ports;
    do {
      const std::uint8_t port = line.port();
      if (line.good() && std::find(ports.begin(), ports.end(), port) != ports.end())
        line.complain("duplicate port " + std::to_string(port));
      ports.push_back(port);
    } while (line.good() && !line.at_end());
    mentions.places.push_back({Mention::Means::Switch, guid, line.number(), ports});
    options.port_search_order[guid] = std::move(ports);
  });
  if (!done) return tl::unexpected<Error>(std::move(done.error()));
  return mentions;
}

/// torus-2QoS.conf, keyword by keyword.
class TorusReader {
 public:
  explicit TorusReader(const std::string& file) : mentions_{file, OptionFile::Torus, {}} {
    config_.file = file;
  }

  void read(Line& line) {
    const std::string_view word = line.word();
    if (word == "torus" || word == "mesh") return sizes(line, word == "mesh");
    if (!sized_) {
      // Once is enough, and so is a size that was wrong.
      if (!std::exchange(size_missed_, true))
        line.complain("expected torus or mesh before anything else, got '" +
                      printable(word.substr(0, 40)) + "'");
      return;
    }
    for (std::size_t dim = 0; dim < 3; ++dim) {
      const char axis = "xyz"[dim];
      if (word == std::string{axis} + "p_link") return link(line, config_.seeds.back().plus[dim]);
      if (word == std::string{axis} + "m_link") return link(line, config_.seeds.back().minus[dim]);
      if (word == std::string{axis} + "_dateline") {
        config_.seeds.back().dateline[dim] = line.offset();
        return;
      }
    }
    if (word == "next_seed") {
      if (!origin()) line.complain("the seed before this one has no links");
      config_.seeds.emplace_back();
    } else if (word == "portgroup_max_ports") {
      config_.portgroup_max_ports = static_cast<unsigned>(line.number("a number", 1, kPortMax));
    } else if (word == "max_changes") {
      line.number("a number", 0, std::numeric_limits<std::uint32_t>::max());  // opensm's log only
    } else if (word == "port_order") {
      config_.port_order.clear();
      while (line.good() && !line.at_end()) {
        const std::uint8_t port = line.port();
        if (std::find(config_.port_order.begin(), config_.port_order.end(), port) !=
            config_.port_order.end())
          line.complain("duplicate port " + std::to_string(port));
        config_.port_order.push_back(port);
      }
    } else {
      line.complain("no keyword of torus-2QoS.conf is called '" + printable(word.substr(0, 40)) +
                    "'");
    }
  }

  Result<Mentions> finish(Options& options) {
    if (!sized_)
      return refused(
          std::vector{Diagnostic{
              Severity::Error, config_.file, {1, 1}, "expected torus or mesh, got nothing"}},
          {});
    // A seed without links says nothing, whatever else was said about it.
    if (!origin() && config_.seeds.size() > 1) config_.seeds.pop_back();
    options.torus = std::move(config_);
    return std::move(mentions_);
  }

 private:
  void sizes(Line& line, bool mesh) {
    size_missed_ = true;
    if (sized_) {
      line.complain("duplicate size of the torus");
      return;
    }
    for (std::size_t dim = 0; dim < 3; ++dim) {
      std::string word(line.at_end() ? std::string_view() : line.word());
      config_.mesh[dim] = mesh;
      if (!word.empty() && std::string_view("mMtT").find(word.back()) != std::string_view::npos) {
        config_.mesh[dim] = word.back() == 'm' || word.back() == 'M';
        word.pop_back();
      }
      std::uint64_t radix = 0;
      if (!parse_number(word, kLidUnicastMax.value, radix) || radix == 0) {
        line.complain("expected three sizes like `8 8 8` or `4 3t 5m`, got '" +
                      printable(word.substr(0, 40)) + "'");
        return;
      }
      config_.radix[dim] = static_cast<unsigned>(radix);
    }
    sized_ = true;
    config_.seeds.emplace_back();
  }

  std::optional<Guid> origin() const {
    const TorusConfig::Seed& seed = config_.seeds.back();
    for (const auto* side : {&seed.plus, &seed.minus})
      for (const auto& link : *side)
        if (link) return link->from;
    return std::nullopt;
  }

  void link(Line& line, std::optional<TorusConfig::Link>& where) {
    if (where) {
      line.complain("duplicate link of the seed (first on line " + std::to_string(where->line) +
                    ")");
      return;
    }
    TorusConfig::Link link;
    link.from = line.guid("the GUID of a switch");
    link.to = line.guid("the GUID of a switch");
    link.line = line.number();
    if (!line.good()) return;
    const auto before = origin();
    if (link.from == link.to) line.complain("a link from a switch to itself");
    if (before && *before != link.from)
      line.complain("the links of a seed share their first switch; expected " + to_string(*before) +
                    ", got " + to_string(link.from));
    for (const Guid guid : {link.from, link.to})
      mentions_.places.push_back({Mention::Means::Switch, guid, link.line, {}});
    where = link;
  }

  TorusConfig config_;
  Mentions mentions_;
  bool sized_{false};
  bool size_missed_{false};  // what is wrong with it was said
};

Result<Mentions> read_torus(std::string_view text, const std::string& file, Options& options) {
  TorusReader reader(file);
  auto done = each_line(text, file, [&](Line& line) { reader.read(line); });
  if (!done) return tl::unexpected<Error>(std::move(done.error()));
  return reader.finish(options);
}

/// The two files of engine `file`: formats of libdiag/tables, no names to hold against a fabric.
Result<Mentions> read_saved_tables(OptionFile which, std::string_view text, const std::string& file,
                                   Options& options) {
  auto tables = options.tables ? std::make_shared<TableFiles>(*options.tables)
                               : std::make_shared<TableFiles>();
  std::vector<Diagnostic> mistakes;
  if (which == OptionFile::Lfts) {
    auto lfts = tables::read_tables(text, file, &tables->owners, &mistakes);
    if (!lfts) return refused(mistakes, text);
    tables->lfts_file = file;
    tables->lfts = std::move(*lfts);
  } else {
    auto matrix = tables::read_lid_matrix(text, file, &mistakes);
    if (!matrix) return refused(mistakes, text);
    tables->lid_matrix_file = file;
    tables->matrix = std::move(*matrix);
  }
  options.tables = std::move(tables);
  return Mentions{file, which, {}};
}

/// How a file that is nothing but a list is named on the command line; nullptr: it is another.
const char* list_option(OptionFile which) {
  switch (which) {
    case OptionFile::Roots:
      return "--root_guid_file";
    case OptionFile::ComputeNodes:
      return "--cn_guid_file";
    case OptionFile::IoNodes:
      return "--io_guid_file";
    case OptionFile::Ids:
      return "--ids_guid_file";
    case OptionFile::Ignored:
      return "--ignore_guids";
    case OptionFile::HopWeights:
      return "--hop_weights_file";
    case OptionFile::PortSearchOrder:
      return "--port_search_ordering_file";
    case OptionFile::GuidRoutingOrder:
      return "--guid_routing_order_file";
    case OptionFile::NoHosts:
      return "--no_host_guid_file";
    case OptionFile::Torus:
    case OptionFile::Lfts:
    case OptionFile::LidMatrix:
      return nullptr;
  }
  return nullptr;
}

/// What is wrong with a mention, or nothing.
std::string complaint(const fabric::Fabric& fabric, const Mention& m) {
  using Means = Mention::Means;
  const auto node = fabric.find_node(m.guid);
  if (m.means == Means::Host) {
    const auto port = fabric.find_port_guid(m.guid);
    if (!node && !port) return "no node and no port has the GUID " + to_string(m.guid);
    const bool is_switch = fabric.node(node ? *node : port->node).is_switch();
    return is_switch ? to_string(m.guid) + " is a switch, where a CA or router is meant" : "";
  }
  if (m.means == Means::EndPort) {
    if (fabric.find_port_guid(m.guid)) return {};
    return "no port has the GUID " + to_string(m.guid) + (node ? "; it is a node's" : "");
  }
  if (!node) {
    if (m.means == Means::SwitchOrHost && fabric.find_port_guid(m.guid)) return {};
    return std::string(m.means == Means::Switch ? "no switch" : "no node") + " has the GUID " +
           to_string(m.guid);
  }
  if (m.means == Means::Switch && !fabric.node(*node).is_switch())
    return to_string(m.guid) + " is no switch";
  for (const std::uint8_t port : m.ports)
    if (port > fabric.node(*node).num_ports)
      return to_string(m.guid) + " has " + std::to_string(fabric.node(*node).num_ports) +
             " ports, no port " + std::to_string(port);
  return {};
}

}  // namespace

Result<Mentions> read_option_text(OptionFile which, std::string_view text, const std::string& file,
                                  Options& options) {
  switch (which) {
    case OptionFile::Roots:
      return read_list(which, text, file, options.roots);
    case OptionFile::ComputeNodes:
      return read_list(which, text, file, options.compute_nodes);
    case OptionFile::IoNodes:
      return read_list(which, text, file, options.io_nodes);
    case OptionFile::Ids:
      return read_list(which, text, file, options.ids);
    case OptionFile::GuidRoutingOrder:
      return read_list(which, text, file, options.guid_routing_order);
    case OptionFile::NoHosts:
      return read_list(which, text, file, options.no_hosts);
    case OptionFile::Ignored:
    case OptionFile::HopWeights:
      return read_ports(which, text, file, options);
    case OptionFile::PortSearchOrder:
      return read_search_order(text, file, options);
    case OptionFile::Torus:
      return read_torus(text, file, options);
    case OptionFile::Lfts:
    case OptionFile::LidMatrix:
      return read_saved_tables(which, text, file, options);
  }
  return fail(ErrorKind::Internal, file + ": a file of no known kind");
}

std::vector<std::string> empty_files(const std::vector<Mentions>& mentions) {
  std::vector<std::string> lines;
  for (const Mentions& file : mentions)
    if (const char* option = file.which ? list_option(*file.which) : nullptr;
        option != nullptr && file.places.empty())
      lines.push_back(file.file + ": names nothing (" + option + "): routed as without it");
  return lines;
}

Result<ReadOptions> read_option_files(const OptionFiles& files, const Options& given) {
  ReadOptions read{given, {}};
  std::string mistakes;
  for (const auto& [which, path] : files) {
    const bool tables = which == OptionFile::Lfts || which == OptionFile::LidMatrix;
    const auto text = fabric::read_regular_file(path, tables ? kTableBytesMax : kListBytesMax);
    auto mentions = text ? read_option_text(which, *text, path, read.options)
                         : Result<Mentions>(tl::unexpected<Error>(text.error()));
    if (mentions)
      read.mentions.push_back(*std::move(mentions));
    else
      mistakes += (mistakes.empty() ? "" : "\n") + mentions.error().message;
  }
  if (!mistakes.empty()) return fail(ErrorKind::Usage, std::move(mistakes));
  return read;
}

std::vector<std::string> unknown_names(const fabric::Fabric& fabric,
                                       const std::vector<Mentions>& mentions,
                                       const std::function<bool(Guid)>& remembered,
                                       std::size_t per_file_max) {
  std::vector<std::string> lines;
  for (const Mentions& file : mentions) {
    std::size_t count = 0;
    for (const Mention& m : file.places) {
      std::string what = complaint(fabric, m);
      const bool away = !fabric.find_node(m.guid) && remembered && remembered(m.guid);
      if (what.empty() || away) continue;
      if (++count <= per_file_max)
        lines.push_back(file.file + ":" + std::to_string(m.line) + ": " + std::move(what));
    }
    if (count > per_file_max)
      lines.push_back(file.file + ": and " + std::to_string(count - per_file_max) +
                      " more lines name what is not there");
  }
  return lines;
}

}  // namespace ib::route
