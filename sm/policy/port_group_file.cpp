// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/port_group_file.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>

#include "libdiag/base/text.h"
#include "sm/policy/blocks.h"

namespace sm::policy {
namespace {

using ib::fabric::PortBits;
using ib::fabric::PortGroups;

constexpr std::string_view kWord = "port-group";
constexpr std::uint64_t kPortMax = 254, kAll64 = ~std::uint64_t{0};

struct Named {
  std::string name;
  ib::TextPlace place;
};

/// A group, and where it names others.
struct Draft {
  ib::TextPlace place;
  ib::fabric::PortGroup group;
  std::vector<Named> named;
};

/// Names stand in lists, and colons end words.
void read_name(Problems& problems, const Piece& value, Draft& draft) {
  draft.group.name = unquoted(value.text);
  if (draft.group.name.empty() || draft.group.name.find_first_of(",:") != std::string::npos)
    problems.expected("a name without ',' and ':'", value);
}

/// 2-5/7/9-13
std::optional<PortBits> read_ports(Problems& problems, const Piece& value) {
  PortBits ports;
  std::size_t begin = 0;
  while (begin <= value.text.size()) {
    const auto end = std::min(value.text.find('/', begin), value.text.size());
    const auto [low, high] = value.part(begin, end - begin).cut('-');
    const auto first = problems.number(low, "a port", 1, kPortMax);
    const auto last = high ? problems.number(*high, "a port", 1, kPortMax) : first;
    if (!first || !last) return std::nullopt;
    if (*last < *first) {
      problems.expected("ports like 2-5/7/9-13, the smaller one first", value);
      return std::nullopt;
    }
    for (auto port = *first; port <= *last; ++port) ports.set(port);
    begin = end + 1;
  }
  return ports;
}

void read_guids(Problems& problems, const Piece& value, Draft& draft) {
  std::map<std::uint64_t, ib::fabric::GuidRule::Ports> by_guid;
  for (const Piece& item : value.list()) {
    const auto [guid_text, port_text] = item.cut('@');
    const auto guid =
        problems.number(guid_text, "a GUID, or a GUID and ports like 0x289@2-5/7", 1, kAll64);
    if (!guid) continue;
    std::optional<PortBits> ports;
    if (port_text && !(ports = read_ports(problems, *port_text))) continue;
    const auto [at, fresh] = by_guid.try_emplace(
        *guid, ib::fabric::GuidRule::Ports{ib::Guid{*guid}, ports, item.place.line});
    if (fresh) continue;
    if (at->second.only && ports)
      *at->second.only |= *ports;
    else
      at->second.only.reset();
  }
  ib::fabric::GuidRule rule;
  for (auto& [guid, ports] : by_guid) rule.of.push_back(ports);
  draft.group.rules.emplace_back(std::move(rule));
}

void read_guid_range(Problems& problems, const Piece& value, Draft& draft) {
  const auto [low, high] = value.cut('-');
  if (!high || value.text.find(',') != std::string_view::npos)
    return problems.expected("one range of GUIDs like 0x283-0x289 (a further one on its own line)",
                             value);
  const auto first = problems.number(low, "a GUID", 0, kAll64);
  const auto last = problems.number(*high, "a GUID", 0, kAll64);
  if (!first || !last) return;
  if (*last < *first) return problems.expected("a range with the smaller GUID first", value);
  draft.group.rules.emplace_back(ib::fabric::GuidRangeRule{ib::Guid{*first}, ib::Guid{*last}});
}

/// hostname=h; port=2; hca_idx=1: blanks separate as well.
std::optional<ib::fabric::HostRule::Host> read_host(Problems& problems, const Piece& item) {
  constexpr std::string_view kSeparators = "; \t";
  ib::fabric::HostRule::Host host;
  for (std::size_t begin = 0; begin < item.text.size();) {
    begin = item.text.find_first_not_of(kSeparators, begin);
    if (begin == std::string_view::npos) break;
    const auto end = std::min(item.text.find_first_of(kSeparators, begin), item.text.size());
    const auto [key, said] = item.part(begin, end - begin).cut('=');
    begin = end;
    if (said && equal_words(key.text, "hostname") && !said->text.empty() && host.name.empty()) {
      host.name = unquoted(said->text);
    } else if (said && equal_words(key.text, "port") && !host.port) {
      const auto port = problems.number(*said, "a port", 1, kPortMax);
      if (!port) return std::nullopt;
      host.port = static_cast<std::uint8_t>(*port);
    } else if (said && equal_words(key.text, "hca_idx") && !host.hca) {
      const auto hca = problems.number(*said, "the number of an HCA", 0, UINT32_MAX);
      if (!hca) return std::nullopt;
      host.hca = static_cast<std::uint32_t>(*hca);
    } else {
      problems.expected("hostname=HOST, then port=N and hca_idx=N as needed, each once", key);
      return std::nullopt;
    }
  }
  if (!host.name.empty()) return host;
  problems.expected("a host like 'hostname=node1; port=2; hca_idx=1'", item);
  return std::nullopt;
}

void read_hosts(Problems& problems, const Piece& value, Draft& draft) {
  ib::fabric::HostRule rule;
  for (const Piece& item : value.list())
    if (auto host = read_host(problems, item)) rule.of.push_back(*std::move(host));
  draft.group.rules.emplace_back(std::move(rule));
}

/// EXPRESSION[:PORT]; other colons are part of the expression.
void read_expression(Problems& problems, const Piece& value, Draft& draft) {
  ib::fabric::ExpressionRule rule;
  auto [text, port_text] = value.cut_last(':');
  const bool has_port = port_text && !port_text->text.empty() &&
                        port_text->text.find_first_not_of("0123456789") == std::string_view::npos;
  if (has_port) {
    const auto port = problems.number(*port_text, "a port", 1, kPortMax);
    if (!port) return;
    rule.port = static_cast<std::uint8_t>(*port);
  } else {
    text = value;
  }
  rule.expression = ib::Expression::of(unquoted(text.text));
  if (rule.expression == nullptr)
    return problems.expected(
        "a regular expression (POSIX, extended, without {n} and \\1, at most 256 characters)",
        text);
  draft.group.rules.emplace_back(std::move(rule));
}

template <ib::fabric::CombiningRule::Kind kind>
void read_combination(Problems& problems, const Piece& value, Draft& draft) {
  const auto names = value.list();
  if (names.size() != 2 || names[0].text.empty() || names[1].text.empty())
    return problems.expected("the names of two groups with a comma between them", value);
  ib::fabric::CombiningRule rule{kind, unquoted(names[0].text), unquoted(names[1].text)};
  draft.named.push_back({rule.first, names[0].place});
  draft.named.push_back({rule.second, names[1].place});
  draft.group.rules.emplace_back(std::move(rule));
}

const Field<Draft> kFields[] = {
    {"name", false, read_name},
    {kUse, false, [](Problems&, const Piece& v, Draft& d) { d.group.use = v.text; }},
    {"port-guid", true, read_guids},
    {"port-guid-range", true, read_guid_range},
    {"port-name", true, read_hosts},
    {"port-regexp", true, read_expression},
    {"union-rule", true, read_combination<ib::fabric::CombiningRule::Kind::Union>},
    {"subtract-rule", true, read_combination<ib::fabric::CombiningRule::Kind::Subtraction>},
};

/// What only the whole file shows.
class Check {
 public:
  Check(const std::vector<Draft>& drafts, Problems& problems)
      : drafts_(drafts), problems_(problems), heights_(drafts.size()) {}

  void run(bool is_in_order) {
    names();
    if (!is_in_order) return;
    for (std::size_t i = 0; i < drafts_.size() && !stopped_; ++i) height(i, 0);
  }

 private:
  void names() {
    const auto predefined = PortGroups::predefined();
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      const auto& [place, group, named] = drafts_[i];
      if (group.name.empty()) problems_.error(place, "this port-group has no name");
      if (group.rules.empty())
        problems_.error(place,
                        "this port-group has no rule: port-guid, port-guid-range, port-name, "
                        "port-regexp, union-rule or subtract-rule");
      if (std::ranges::any_of(predefined, [&](auto n) { return equal_words(n, group.name); }))
        problems_.error(place, fmt::format("'{}' is a group that there is without being defined",
                                           ib::printable(group.name)));
      const auto [at, fresh] = by_name_.try_emplace(lowered(group.name), i);
      if (!fresh && !group.name.empty())
        problems_.error(place,
                        fmt::format("port-group '{}' is defined twice (first in line {})",
                                    ib::printable(group.name), drafts_[at->second].place.line));
    }
    std::vector<std::string_view> known(predefined.begin(), predefined.end());
    for (const Draft& draft : drafts_) known.push_back(draft.group.name);
    for (const Draft& draft : drafts_)
      for (const Named& other : draft.named)
        if (std::ranges::none_of(known, [&](auto n) { return equal_words(n, other.name); }))
          problems_.error(other.place,
                          fmt::format("there is no port group '{}'{}", ib::printable(other.name),
                                      did_you_mean(other.name, known)));
  }

  /// How many groups stand below; one that stands on itself is as high as can be.
  unsigned height(std::size_t at, unsigned depth) {
    if (heights_[at]) return *heights_[at];
    const auto too_high = [&] {
      if (!std::exchange(stopped_, true))
        problems_.error(
            drafts_[at].place,
            fmt::format("port-group '{}' stands on itself, or on groups on groups more "
                        "than {} deep",
                        ib::printable(drafts_[at].group.name), PortGroups::kNestingMost));
      return 0U;
    };
    if (depth > PortGroups::kNestingMost) return too_high();
    unsigned most = 0;
    for (const Named& other : drafts_[at].named)
      if (const auto below = by_name_.find(lowered(other.name)); below != by_name_.end())
        most = std::max(most, 1 + height(below->second, depth + 1));
    if (most > PortGroups::kNestingMost) return too_high();
    heights_[at] = most;
    return most;
  }

  static std::string lowered(std::string_view name) {
    std::string small(name);
    for (char& c : small)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return small;
  }

  const std::vector<Draft>& drafts_;
  Problems& problems_;
  std::map<std::string, std::size_t> by_name_;
  std::vector<std::optional<unsigned>> heights_;
  bool stopped_{false};
};

}  // namespace

bool has_group_rules(std::string_view text) {
  const auto lines = text_lines(text);
  return !lines.empty() && equal_words(lines.front().text, kWord);
}

PortGroupFile read_port_group_file(std::string_view text, const std::string& file) {
  PortGroupFile out;
  if (auto wrong = not_text(text, file)) {
    out.diagnostics.push_back(*std::move(wrong));
    return out;
  }
  Problems problems(file, out.diagnostics);
  std::vector<Draft> drafts = read_blocks(text, kWord, kFields, problems);
  Check(drafts, problems).run(!ib::has_errors(out.diagnostics));
  std::ranges::stable_sort(out.diagnostics, {}, &ib::Diagnostic::place);
  if (ib::has_errors(out.diagnostics)) return out;
  std::vector<ib::fabric::PortGroup> groups;
  groups.reserve(drafts.size());
  for (Draft& draft : drafts) {
    groups.push_back(std::move(draft.group));
    groups.back().place = draft.place;
  }
  out.groups = PortGroups(std::move(groups));
  return out;
}

std::vector<PortGroup> read_any_port_groups(std::string_view text, const std::string& file,
                                            std::vector<ib::Diagnostic>& diagnostics) {
  if (!has_group_rules(text)) {
    QosFile read = read_qos_file(text, file);
    diagnostics = std::move(read.diagnostics);
    return std::move(read.groups);
  }
  PortGroupFile read = read_port_group_file(text, file);
  diagnostics = std::move(read.diagnostics);
  const auto rules = std::make_shared<const PortGroups>(std::move(read.groups));
  std::vector<PortGroup> out;
  const auto add = [&](std::string_view name, std::string_view use, ib::TextPlace place) {
    PortGroup& group = out.emplace_back();
    group.name = name, group.use = use, group.place = place, group.rules = rules;
  };
  for (const ib::fabric::PortGroup& group : rules->defined())
    add(group.name, group.use, group.place);
  // The last one has ports between switches alone, of which none is an end port.
  for (const std::string_view name : PortGroups::predefined().first(4)) add(name, {}, {});
  return out;
}

}  // namespace sm::policy
