// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/qos_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "libdiag/base/text.h"
#include "sm/policy/blocks.h"
#include "sm/policy/text_line.h"
#include "sm/policy/ulp_rules.h"
#include "sm/policy/words.h"

namespace sm::policy {
namespace {

constexpr std::uint64_t kAll64 = ~std::uint64_t{0};
constexpr std::uint64_t kPKeyMax = 0xFFFF, kPKeyBase = 0x7FFF, kQosClassMax = 0xFFF;
constexpr std::uint64_t kPortMax = 254;

// ---- the fields of each kind of block, a row each

void read_names(const Piece& value, std::vector<std::string>& out) {
  for (const Piece& item : value.list())
    if (auto name = unquoted(item.text); !name.empty()) out.push_back(std::move(name));
}

/// NodeDescription/P1, ...: the last slash separates, since descriptions may have some.
void read_named_ports(Problems& problems, const Piece& value, PortGroup& group) {
  for (const Piece& item : value.list()) {
    const std::string name = unquoted(item.text);
    if (name.empty()) continue;
    const auto slash = name.rfind('/');
    std::uint64_t port = 0;
    const bool good = slash != std::string::npos && slash > 0 && name.size() > slash + 2 &&
                      (name[slash + 1] == 'P' || name[slash + 1] == 'p') &&
                      ib::parse_number(std::string_view(name).substr(slash + 2), kPortMax, port) &&
                      port > 0;
    if (!good) {
      problems.expected("a port like \"node description/P1\"", item);
      continue;
    }
    group.ports.push_back({name.substr(0, slash), static_cast<std::uint8_t>(port)});
  }
}

void read_node_types(Problems& problems, const Piece& value, PortGroup& group) {
  constexpr std::array<std::string_view, 5> kTypes = {"CA", "SWITCH", "ROUTER", "SELF", "ALL"};
  for (const Piece& item : value.list()) {
    const bool all = equal_words(item.text, kTypes[4]);
    const bool known = std::ranges::any_of(
        kTypes, [&](std::string_view type) { return equal_words(type, item.text); });
    if (!known)
      problems.error(item.place, fmt::format("unknown node type '{}'{}", ib::printable(item.text),
                                             did_you_mean(item.text, kTypes)));
    group.cas = group.cas || all || equal_words(item.text, kTypes[0]);
    group.switches = group.switches || all || equal_words(item.text, kTypes[1]);
    group.routers = group.routers || all || equal_words(item.text, kTypes[2]);
    group.self = group.self || equal_words(item.text, kTypes[3]);
  }
}

void read_p_keys(Problems& problems, const Piece& value, Intervals<std::uint16_t>& out) {
  problems.ranges(value, "a P_Key", kPKeyMax, out, kPKeyBase);
}

template <std::uint64_t kMin, std::uint64_t kMax>
void read_code(Problems& problems, const Piece& value, std::string_view what,
               std::optional<std::uint8_t>& out) {
  // After an error nothing is used, and a value that is there is not also said to be missing.
  out = static_cast<std::uint8_t>(problems.number(value, what, kMin, kMax).value_or(kMin));
}

const Field<PortGroup> kGroupFields[] = {
    {"name", false, [](Problems&, const Piece& v, PortGroup& g) { g.name = unquoted(v.text); }},
    {kUse, false, [](Problems&, const Piece& v, PortGroup& g) { g.use = v.text; }},
    {"port-guid", true,
     [](Problems& p, const Piece& v, PortGroup& g) {
       p.ranges(v, "a port GUID", kAll64, g.guids);
     }},
    {"port-name", true, read_named_ports},
    {"partition", true,
     [](Problems&, const Piece& v, PortGroup& g) { read_names(v, g.partitions); }},
    {"pkey", true, [](Problems& p, const Piece& v, PortGroup& g) { read_p_keys(p, v, g.p_keys); }},
    {"node-type", true, read_node_types},
};

const Field<QosLevelLines> kLevelFields[] = {
    {"name", false, [](Problems&, const Piece& v, QosLevelLines& l) { l.name = unquoted(v.text); }},
    {kUse, false, [](Problems&, const Piece& v, QosLevelLines& l) { l.use = v.text; }},
    {"sl", false,
     [](Problems& p, const Piece& v, QosLevelLines& l) { read_code<0, 15>(p, v, "an SL", l.sl); }},
    {"mtu-limit", false,
     [](Problems& p, const Piece& v, QosLevelLines& l) {
       read_code<1, 5>(p, v, "an MTU code", l.mtu_limit);
     }},
    {"rate-limit", false,
     [](Problems& p, const Piece& v, QosLevelLines& l) {
       read_code<2, 24>(p, v, "a rate code", l.rate_limit);
     }},
    {"packet-life", false,
     [](Problems& p, const Piece& v, QosLevelLines& l) {
       read_code<0, 63>(p, v, "a packet life code", l.packet_life);
     }},
    {"pkey", true,
     [](Problems& p, const Piece& v, QosLevelLines& l) { read_p_keys(p, v, l.p_keys); }},
    {"path-bits", true,
     [](Problems& p, const Piece& v, QosLevelLines& l) {
       p.ranges(v, "path bits", 0x7F, l.path_bits);
     }},
};

const Field<QosMatchRule> kRuleFields[] = {
    {kUse, false, [](Problems&, const Piece& v, QosMatchRule& r) { r.use = v.text; }},
    {"qos-class", true,
     [](Problems& p, const Piece& v, QosMatchRule& r) {
       p.ranges(v, "a QoS class", kQosClassMax, r.qos_classes);
     }},
    {"source", true, [](Problems&, const Piece& v, QosMatchRule& r) { read_names(v, r.sources); }},
    {"destination", true,
     [](Problems&, const Piece& v, QosMatchRule& r) { read_names(v, r.destinations); }},
    {"service-id", true,
     [](Problems& p, const Piece& v, QosMatchRule& r) {
       p.ranges(v, "a service ID", kAll64, r.service_ids);
     }},
    {"pkey", true,
     [](Problems& p, const Piece& v, QosMatchRule& r) { read_p_keys(p, v, r.p_keys); }},
    {"qos-level-name", false,
     [](Problems&, const Piece& v, QosMatchRule& r) { r.level = unquoted(v.text); }},
};

// ---- the file

constexpr std::array<std::string_view, 5> kSections = {"qos-ulps", "port-groups", "qos-setup",
                                                       "qos-levels", "qos-match-rules"};

class Reader {
 public:
  Reader(std::string_view text, const std::string& file)
      : lines_(text_lines(text)), problems_(file, out_.diagnostics) {
    end_ = lines_.empty() ? ib::TextPlace{} : lines_.back().place;
  }

  QosFile run(std::string_view text, const std::string& file) {
    if (auto wrong = not_text(text, file)) {
      out_.diagnostics.push_back(*std::move(wrong));
      return std::move(out_);
    }
    while (at_ < lines_.size()) read_section(lines_[at_++]);
    check();
    std::ranges::stable_sort(out_.diagnostics, {}, &ib::Diagnostic::place);
    return std::move(out_);
  }

 private:
  static std::string end_of(std::string_view block) { return "end-" + std::string(block); }

  void read_section(const Piece& line) {
    if (equal_words(line.text, "qos-ulps")) {
      each_line("qos-ulps", line.place, [&](const Piece& l) { read_ulp(l); });
    } else if (equal_words(line.text, "port-groups")) {
      blocks("port-groups", "port-group", line.place, kGroupFields, out_.groups);
    } else if (equal_words(line.text, "qos-levels")) {
      blocks("qos-levels", "qos-level", line.place, kLevelFields, out_.levels);
    } else if (equal_words(line.text, "qos-match-rules")) {
      blocks("qos-match-rules", "qos-match-rule", line.place, kRuleFields, out_.rules);
    } else if (equal_words(line.text, "qos-setup")) {
      bool any = false;
      each_line("qos-setup", line.place, [&](const Piece&) { any = true; });
      if (any)
        problems_.warning(
            line.place,
            "qos-setup is read and has no effect: SL2VL and VL arbitration are set by "
            "qos_* in the options file");
    } else {
      problems_.error(line.place,
                      fmt::format("expected a section ({}), got '{}'{}", fmt::join(kSections, ", "),
                                  ib::printable(line.text), did_you_mean(line.text, kSections)));
    }
  }

  /// The lines of a section or block up to its end, or to that of the section `around` it.
  template <class Do>
  void each_line(std::string_view block, ib::TextPlace begins, Do&& run,
                 std::string_view around = {}) {
    const std::string end = end_of(block);
    for (; at_ < lines_.size();) {
      const Piece line = lines_[at_++];
      if (equal_words(line.text, end)) return;
      if (!around.empty() && equal_words(line.text, end_of(around))) {
        problems_.error(line.place,
                        fmt::format("expected '{}' before this line: '{}' of line {} is not closed",
                                    end, block, begins.line));
        --at_;
        return;
      }
      run(line);
    }
    problems_.error(end_, fmt::format("'{}' of line {} is not closed: expected '{}' before the end "
                                      "of the file",
                                      block, begins.line, end));
  }

  template <class Block, std::size_t N>
  void blocks(std::string_view section, std::string_view block, ib::TextPlace begins,
              const Field<Block> (&fields)[N], std::vector<Block>& out) {
    each_line(section, begins, [&](const Piece& line) {
      if (!equal_words(line.text, block)) {
        problems_.expected(fmt::format("'{}' or '{}'", block, end_of(section)), line);
        return;
      }
      Block& made = out.emplace_back();
      made.place = line.place;
      std::array<std::uint32_t, N> seen{};
      each_line(
          block, line.place,
          [&](const Piece& field_line) {
            read_field(problems_, field_line, std::span<const Field<Block>>(fields), seen, made);
          },
          section);
    });
  }

  void read_ulp(const Piece& line) {
    if (auto rule = read_ulp_rule(problems_, line)) {
      if (rule->is_default) {
        if (out_.default_sl) problems_.error(line.place, "duplicate default SL");
        out_.default_sl = rule->rule.sl;
      } else {
        out_.ulps.push_back(std::move(rule->rule));
      }
    }
  }

  // ---- what only the whole file shows

  void check() {
    check_names(out_.groups, "port-group");
    check_names(out_.levels, "qos-level");
    for (const QosLevelLines& level : out_.levels)
      if (!level.sl)
        problems_.error(level.place, fmt::format("QoS level '{}' has no sl", level.name));
    for (const QosMatchRule& rule : out_.rules) check_rule(rule);
    const auto* level = out_.find_level(kDefaultLevel);
    // Port groups alone are for partitions and rate limits to name.
    const bool any = !out_.levels.empty() || !out_.rules.empty() || !out_.ulps.empty();
    if (any && level == nullptr && !out_.default_sl)
      problems_.error(end_,
                      "there is no default: add a qos-level named DEFAULT, or 'default : SL' "
                      "in qos-ulps");
    if (level != nullptr && out_.default_sl)
      problems_.warning(level->place,
                        "the level DEFAULT holds; 'default :' in qos-ulps is never used");
    warn_of_hidden_rules(out_.ulps, problems_);
  }

  template <class Block>
  void check_names(const std::vector<Block>& blocks, std::string_view what) {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].name.empty()) {
        problems_.error(blocks[i].place, fmt::format("this {} has no name", what));
        continue;
      }
      for (std::size_t j = 0; j < i; ++j)
        if (equal_words(blocks[j].name, blocks[i].name))
          problems_.error(blocks[i].place,
                          fmt::format("{} '{}' is defined twice (first in line {})", what,
                                      blocks[i].name, blocks[j].place.line));
    }
  }

  void check_rule(const QosMatchRule& rule) {
    if (rule.level.empty()) {
      problems_.error(rule.place, "this rule has no qos-level-name");
    } else if (out_.find_level(rule.level) == nullptr) {
      unknown(rule.place, "QoS level", rule.level, out_.levels);
    }
    for (const auto* names : {&rule.sources, &rule.destinations})
      for (const std::string& name : *names)
        if (out_.find_group(name) == nullptr) unknown(rule.place, "port group", name, out_.groups);
  }

  template <class Block>
  void unknown(ib::TextPlace place, std::string_view what, const std::string& name,
               const std::vector<Block>& blocks) {
    std::vector<std::string_view> known;
    known.reserve(blocks.size());
    for (const Block& b : blocks) known.push_back(b.name);
    problems_.error(place, fmt::format("this rule names the {} '{}', which is not defined{}", what,
                                       ib::printable(name), did_you_mean(name, known)));
  }

  std::vector<Piece> lines_;
  std::size_t at_{0};
  ib::TextPlace end_;
  QosFile out_;
  Problems problems_;
};

}  // namespace

const PortGroup* QosFile::find_group(std::string_view name) const {
  const auto at =
      std::ranges::find_if(groups, [&](const PortGroup& g) { return equal_words(g.name, name); });
  return at == groups.end() ? nullptr : &*at;
}
const QosLevelLines* QosFile::find_level(std::string_view name) const {
  const auto at = std::ranges::find_if(
      levels, [&](const QosLevelLines& l) { return equal_words(l.name, name); });
  return at == levels.end() ? nullptr : &*at;
}

QosFile read_qos_file(std::string_view text, const std::string& file) {
  return Reader(text, file).run(text, file);
}

}  // namespace sm::policy
