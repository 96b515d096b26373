// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/names.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "libdiag/base/diagnostic.h"
#include "libdiag/base/text.h"
#include "libdiag/fabric/text_file.h"

namespace ib::fabric {
namespace {

constexpr std::string_view kBlanks = " \t";

/// What is wrong with a line of a map: where, and what was expected there.
struct Wrong {
  std::size_t at{};
  const char* expected{};
};

struct Entry {
  Guid guid;
  std::string_view name;
};

/// Nothing: the line is blank or a comment.
tl::expected<std::optional<Entry>, Wrong> read_line(std::string_view line) {
  std::size_t at = line.find_first_not_of(kBlanks);
  if (at == std::string_view::npos || line[at] == '#') return std::nullopt;
  const std::size_t guid_end = std::min(line.find_first_of(" \t\"", at), line.size());
  Guid guid;
  const std::string_view digits = line.substr(at, guid_end - at);
  if (!digits.starts_with("0x") || !parse_guid(digits, guid))
    return tl::unexpected<Wrong>({at, "a node GUID (0x and hexadecimal digits)"});
  at = std::min(line.find_first_not_of(kBlanks, guid_end), line.size());
  if (at == line.size() || line[at] != '"') return tl::unexpected<Wrong>({at, "a name in quotes"});
  const std::size_t name_end = line.find('"', at + 1);
  if (name_end == std::string_view::npos)
    return tl::unexpected<Wrong>({line.size(), "a closing quote"});
  if (name_end == at + 1) return tl::unexpected<Wrong>({at, "a name that is not empty"});
  const std::string_view name = line.substr(at + 1, name_end - at - 1);
  at = std::min(line.find_first_not_of(kBlanks, name_end + 1), line.size());
  if (at < line.size() && line[at] != '#')
    return tl::unexpected<Wrong>({at, "a comment or the end of the line"});
  return Entry{guid, name};
}

std::string got(std::string_view line, std::size_t at) {
  if (at >= line.size()) return "the end of the line";
  const std::string_view word = line.substr(at, line.find_first_of(kBlanks, at) - at);
  return "'" + printable(word.empty() ? line.substr(at, 1) : word.substr(0, 40)) + "'";
}

std::string quoted(std::string_view text) { return "'" + printable(text) + "'"; }

/// "NAME" and GUID, as a list of nodes has them.
std::string entry(const NamedNode& node) {
  return '"' + printable(node.description) + "\" " + to_string(node.guid);
}

/// The one that fits; an error where several do; nothing: none does.
template <class Fits>
std::optional<Result<std::size_t>> only_one(std::span<const NamedNode> nodes, std::string_view text,
                                            const DescribeNode& describe, Fits fits) {
  std::vector<std::size_t> found;
  for (std::size_t n = 0; n < nodes.size(); ++n)
    if (fits(nodes[n])) found.push_back(n);
  if (found.empty()) return std::nullopt;
  if (found.size() == 1) return found[0];
  constexpr std::size_t kListed = 8;
  std::string message = "ambiguous name " + quoted(text) + " (" + std::to_string(found.size()) +
                        " nodes); specify one by its GUID or as HOST:HCA:";
  for (std::size_t i = 0; i < std::min(found.size(), kListed); ++i) {
    message += "\n  " + entry(nodes[found[i]]);
    if (const std::string more = describe(found[i]); !more.empty()) message += ' ' + more;
  }
  if (found.size() > kListed) message += "\n  ...";
  return Result<std::size_t>(fail(ErrorKind::Usage, message));
}

/// The name that a map has for it; empty: none.
std::string_view mapped_name(const NamedNode& node, const NodeNames* names) {
  const auto mapped = names == nullptr ? std::nullopt : names->find(node.guid);
  return mapped.value_or(node.map_name);
}

/// "a06:HCA-1" of "a06 HCA-1".
bool is_host_and_hca(const NamedNode& node, std::string_view text) {
  const std::string_view name = trim(node.description);
  const std::size_t blank = name.find(' ');
  return !node.is_switch && blank != std::string_view::npos && text.size() == name.size() &&
         text[blank] == ':' && text.substr(0, blank) == name.substr(0, blank) &&
         text.substr(blank + 1) == name.substr(blank + 1);
}

std::string short_name(std::string_view description, bool is_switch) {
  std::string name(trim(printable(description)));
  if (!is_switch) return name.substr(0, name.find(' '));
  // "MF0;" and the like, NAME, ":MODEL/"; what follows the model is the place in a chassis, and
  // "U1" alone, the only chip of a box, is none.
  const std::size_t semicolon = name.find(';');
  const std::size_t colon = name.find(':', semicolon == std::string::npos ? 0 : semicolon);
  if (semicolon == std::string::npos || colon == std::string::npos) return name;
  const std::size_t slash = name.find('/', colon);
  std::string host = name.substr(semicolon + 1, colon - semicolon - 1);
  if (slash == std::string::npos || name.substr(slash) == "/U1") return host;
  return host.append(1, ' ').append(name, slash + 1);
}

/// "; did you mean 'host0005 HCA-1' (LID 13)?", or nothing.
std::string nearest_names(std::span<const NamedNode> nodes, std::string_view text,
                          const NodeNames* names, const DescribeNode& describe) {
  std::vector<std::string> shorts;
  shorts.reserve(nodes.size());
  for (const NamedNode& node : nodes)
    shorts.push_back(short_name(node.description, node.is_switch));
  std::vector<std::string_view> known;
  std::vector<std::size_t> owners;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (const std::string_view name :
         {mapped_name(nodes[n], names), nodes[n].description, std::string_view(shorts[n])}) {
      if (name.empty()) continue;
      known.push_back(name);
      owners.push_back(n);
    }
  }
  constexpr std::size_t kSuggested = 3;
  const auto nearest = nearest_words(text, known);
  if (nearest.empty() || nearest.size() > kSuggested) return "";
  std::string out = "; did you mean ";
  for (std::size_t i = 0; i < nearest.size(); ++i) {
    const auto at = std::find(known.begin(), known.end(), nearest[i]);
    const std::string more = describe(owners[static_cast<std::size_t>(at - known.begin())]);
    out += (i == 0 ? "" : " or ") + quoted(nearest[i]) + (more.empty() ? "" : " (" + more + ')');
  }
  return out + '?';
}

/// LID of a node, and the switch it is connected to.
std::string describe(const Fabric& fabric, NodeIndex n) {
  const Node& node = fabric.node(n);
  for (unsigned p = node.is_switch() ? 0 : 1; p <= (node.is_switch() ? 0U : node.num_ports); ++p) {
    const Port& port = fabric.port(n, p);
    if (!port.lid.is_unicast()) continue;
    std::string out = "LID " + to_string(port.lid);
    if (port.peer)
      out += ", " + short_name(fabric.node(port.peer.node)) + " port " +
             std::to_string(port.peer.port);
    return out;
  }
  return "";
}

std::optional<NodeIndex> find_by_guid(const Fabric& fabric, std::string_view text) {
  Guid guid;
  if (!text.starts_with("0x") || !parse_guid(text, guid)) return std::nullopt;
  if (const auto node = fabric.find_node(guid)) return node;
  if (const auto port = fabric.find_port_guid(guid)) return port->node;
  return std::nullopt;
}

}  // namespace

NodeNames NodeNames::read(std::string_view text, std::string_view file_name,
                          std::vector<Diagnostic>& problems) {
  NodeNames names;
  std::uint32_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto entry = read_line(line);
    if (!entry) {
      const auto [at, expected] = entry.error();
      problems.push_back({Severity::Error,
                          std::string(file_name),
                          {number, static_cast<std::uint32_t>(std::min(at, line.size()) + 1)},
                          std::string("expected ") + expected + ", got " + got(line, at)});
    } else if (*entry) {
      names.names_.emplace((*entry)->guid, printable((*entry)->name));
    }
  }
  return names;
}

Result<NodeNames> NodeNames::read(std::string_view text, std::string_view file_name) {
  std::vector<Diagnostic> problems;
  NodeNames names = read(text, file_name, problems);
  if (problems.empty()) return names;
  const auto& [severity, file, place, message] = problems.front();
  return fail(ErrorKind::Usage, file + ':' + std::to_string(place.line) + ':' +
                                    std::to_string(place.column) + ": " + message);
}

Result<NodeNames> NodeNames::read_file(const std::string& path) {
  const auto text = read_file_or_pipe(path);
  if (!text) return tl::unexpected<Error>(text.error());
  return read(*text, path);
}

Result<NodeNames> NodeNames::read_file_or_default(const std::string& path) {
  if (!path.empty()) return read_file(path);
  std::error_code error;
  for (const char* file : kDefaultMaps)
    if (std::filesystem::exists(file, error)) return read_file(file);
  return NodeNames{};
}

std::optional<Guid> NodeNames::find_guid(std::string_view name) const {
  for (const auto& [guid, known] : names_)
    if (known == name) return guid;
  return std::nullopt;
}

std::optional<std::string_view> NodeNames::find(Guid node_guid) const {
  const auto it = names_.find(node_guid);
  if (it == names_.end()) return std::nullopt;
  return it->second;
}

void NodeNames::name(Node& node) const {
  const auto mapped = find(node.guid);
  node.map_name = mapped ? *mapped : std::string_view{};
}

void NodeNames::name_all(Fabric& fabric) const {
  for (NodeIndex n = 0; n < fabric.nodes().size(); ++n) name(fabric.node(n));
}

std::string NodeNames::name_of(const Node& node) const {
  const auto mapped = find(node.guid);
  return mapped ? std::string(*mapped) : printable(node.description);
}

std::string name_in(const NodeNames* names, Guid node_guid, std::string description) {
  const auto mapped = names == nullptr ? std::nullopt : names->find(node_guid);
  return mapped ? std::string(*mapped) : std::move(description);
}

std::string short_name(const Node& node) { return short_name(node.description, node.is_switch()); }

Result<std::size_t> find_named(std::span<const NamedNode> nodes, std::string_view text,
                               const NodeNames* names, const DescribeNode& describe) {
  text = trim(text);
  if (text.empty()) return fail(ErrorKind::Usage, "expected a node, got nothing");
  Guid guid;
  const bool is_guid = text.starts_with("0x") && parse_guid(text, guid);
  const std::function<bool(const NamedNode&)> kForms[] = {
      [&](const NamedNode& node) { return node.file_id == text; },
      [&](const NamedNode& node) { return is_guid && node.guid == guid; },
      [&](const NamedNode& node) { return mapped_name(node, names) == text; },
      [&](const NamedNode& node) { return node.description == text; },
      [&](const NamedNode& node) { return trim(node.description) == text; },
      [&](const NamedNode& node) { return short_name(node.description, node.is_switch) == text; },
      [&](const NamedNode& node) { return is_host_and_hca(node, text); }};
  for (const auto& fits : kForms)
    if (auto found = only_one(nodes, text, describe, fits)) return *std::move(found);
  if (is_guid) return fail(ErrorKind::NotFound, "no node or port has the GUID " + to_string(guid));
  return fail(ErrorKind::NotFound,
              "no node is named " + quoted(text) + nearest_names(nodes, text, names, describe));
}

Result<NodeIndex> find_node(const Fabric& fabric, std::string_view text, const NodeNames* names) {
  if (const auto n = find_by_guid(fabric, text)) return *n;
  std::vector<NamedNode> nodes;
  nodes.reserve(fabric.nodes().size());
  for (const Node& node : fabric.nodes())
    nodes.push_back({node.guid, node.is_switch(), node.description, node.file_id, node.map_name});
  auto found = find_named(nodes, text, names, [&](std::size_t n) {
    return describe(fabric, static_cast<NodeIndex>(n));
  });
  return found.map([](std::size_t n) { return static_cast<NodeIndex>(n); });
}

Result<NodeAndPort> find_node_and_port(const Fabric& fabric, std::string_view text,
                                       const NodeNames* names) {
  auto whole = find_node(fabric, text, names);
  if (whole) return NodeAndPort{*whole, std::nullopt};
  const std::size_t colon = text.rfind(':');
  std::uint64_t port = 0;
  if (colon == std::string_view::npos || !parse_number(text.substr(colon + 1), 254, port)) {
    return tl::unexpected<Error>(whole.error());
  }
  const auto node = find_node(fabric, text.substr(0, colon), names);
  if (!node) return tl::unexpected<Error>(node.error());
  const unsigned ports = fabric.node(*node).num_ports;
  const unsigned first = fabric.node(*node).is_switch() ? 0 : 1;
  if (port < first || port > ports) {
    return fail(ErrorKind::Usage, "expected a port of " + quoted(text.substr(0, colon)) + ", " +
                                      std::to_string(first) + " to " + std::to_string(ports) +
                                      ", got " + std::to_string(port));
  }
  return NodeAndPort{*node, static_cast<std::uint8_t>(port)};
}

std::optional<Result<Lid>> read_lid_word(std::string_view text) {
  constexpr std::size_t kHexLidMax = 6;  // "0xbfff"; GUIDs are longer, padded or not
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  const bool is_number =
      is_hex ? text.size() <= kHexLidMax
             : !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_number) return std::nullopt;
  std::uint64_t number = 0;
  if (!parse_number(text, kLidUnicastMax.value, number) || number == 0)
    return Result<Lid>(fail(ErrorKind::Usage, "expected a LID up to 0xbfff, got " + quoted(text)));
  return Result<Lid>(Lid{static_cast<std::uint16_t>(number)});
}

Result<PortRef> find_end_port(const Fabric& fabric, std::string_view text, const NodeNames* names) {
  if (const auto lid = read_lid_word(text)) {
    if (!*lid) return tl::unexpected<Error>(lid->error());
    if (const auto at = fabric.find_lid(**lid)) return *at;
    return fail(ErrorKind::NotFound, "no port has LID " + to_string(**lid));
  }
  Guid guid;
  if (parse_guid(text, guid))
    if (const auto at = fabric.find_port_guid(guid)) return *at;
  const auto found = find_node_and_port(fabric, text, names);
  if (!found) return tl::unexpected<Error>(found.error());
  if (fabric.node(found->node).is_switch()) return PortRef{found->node, 0};
  if (found->port) return PortRef{found->node, *found->port};
  for (unsigned p = 1; p <= fabric.node(found->node).num_ports; ++p)
    if (fabric.port(found->node, p).lid.is_unicast())
      return PortRef{found->node, static_cast<std::uint8_t>(p)};
  return fail(ErrorKind::Usage, quoted(text) + " has no port with a LID");
}

}  // namespace ib::fabric
