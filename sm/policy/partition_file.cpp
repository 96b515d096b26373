// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/partition_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "libdiag/base/text.h"
#include "sm/policy/group_flags.h"
#include "sm/policy/selector_text.h"
#include "sm/policy/text_line.h"
#include "sm/policy/tokens.h"
#include "sm/policy/words.h"

namespace sm::policy {
namespace {

constexpr std::size_t kDiagnosticsMax = 200;

using Kind = Selector::Kind;
struct SelectorWord {
  std::string_view word;
  Kind kind;
};
constexpr SelectorWord kSelectorWords[] = {
    {"ALL", Kind::All},
    {"ALL_CAS", Kind::AllCas},
    {"ALL_SWITCHES", Kind::AllSwitches},
    {"ALL_ROUTERS", Kind::AllRouters},
    {"ALL_VCAS", Kind::AllVirtual},
    {"SELF", Kind::Self},
    {"NONE", Kind::None},
};
constexpr std::array<std::string_view, 7> kSelectorNames = {
    "ALL", "ALL_CAS", "ALL_SWITCHES", "ALL_ROUTERS", "ALL_VCAS", "SELF", "NONE"};

/// Aggregation nodes: a group of every file of port groups by rules (port_group_file.h).
constexpr std::string_view kAggregationNodes = "ALL_ANS";

constexpr std::array<std::string_view, 3> kMembershipNames = {"full", "limited", "both"};
constexpr Membership kMemberships[] = {Membership::Full, Membership::Limited, Membership::Both};

/// Words that a header may have behind the name, beside those of GroupFlags.
constexpr std::string_view kIpoib = "ipoib", kIndex0 = "indx0", kDefmember = "defmember";
constexpr std::string_view kMgid = "mgid";

class Parser {
 public:
  Parser(std::string_view text, const std::string& file)
      : file_(file),
        tokens_(text, file, out_.diagnostics),
        ends_its_last_line_(text.ends_with('\n')) {}

  PartitionFile run(std::string_view text) {
    if (auto wrong = not_text(text, file_)) {
      out_.diagnostics.assign(1, *std::move(wrong));
      return std::move(out_);
    }
    while (next_definition()) {
      if (out_.diagnostics.size() >= kDiagnosticsMax) {
        report(ib::Severity::Error, tokens_.peek().place,
               "too many problems; the rest of the file was not read");
        break;
      }
    }
    if (out_.definitions.empty() && out_.diagnostics.empty())
      report(ib::Severity::Warning, {},
             "this file defines no partition: the subnet manager's port is a full member of the "
             "default partition, and every other port a limited one");
    std::ranges::stable_sort(out_.diagnostics, {}, &ib::Diagnostic::place);
    return std::move(out_);
  }

 private:
  // ---- messages

  void report(ib::Severity severity, ib::TextPlace place, std::string message) {
    // One definition of a million empty entries is said to be odd often enough.
    if (severity == ib::Severity::Warning && out_.diagnostics.size() >= kDiagnosticsMax) return;
    out_.diagnostics.push_back({severity, file_, place, std::move(message)});
  }
  /// An error; what belongs to the definition is skipped. Always false.
  bool fail(ib::TextPlace place, std::string message) {
    report(ib::Severity::Error, place, std::move(message));
    while (tokens_.peek().kind != Token::Kind::End)
      if (tokens_.take().is(';')) break;
    return false;
  }
  bool fail_expected(std::string_view what, const Token& got, std::string_view hint = {}) {
    return fail(got.place, fmt::format("expected {}, got {}{}", what, describe(got), hint));
  }

  void skip_lines() {
    while (tokens_.peek().kind == Token::Kind::NewLine) tokens_.take();
  }

  // ---- definitions

  /// False at the end of the file.
  bool next_definition() {
    skip_lines();
    while (tokens_.peek().is(';')) {
      report(ib::Severity::Warning, tokens_.take().place, "there is no definition before this ';'");
      skip_lines();
    }
    if (tokens_.peek().kind == Token::Kind::End) return false;
    PartitionDefinition definition;
    definition.place = tokens_.peek().place;
    default_.reset();
    if (read_header(definition) && read_second_colon() && read_members(definition))
      out_.definitions.push_back(std::move(definition));
    return true;
  }

  bool read_header(PartitionDefinition& definition) {
    if (!read_name(definition)) return false;
    while (true) {
      skip_lines();
      const Token mark = tokens_.take();
      if (mark.is(':')) return true;
      if (!mark.is(',')) return fail_in_header(mark);
      skip_lines();
      if (!read_flag(definition)) return false;
    }
  }
  bool fail_in_header(const Token& got) {
    if (got.is(';')) {
      report(ib::Severity::Error, got.place,
             "expected ':' and the members before this ';' (an empty list is ': ;')");
      return false;
    }
    return fail_expected("',' and a flag, or ':' and the members", got);
  }

  /// [name] [= P_Key]; a number alone is the P_Key. An unquoted name may have blanks.
  bool read_name(PartitionDefinition& definition) {
    Token first;
    std::size_t words = 0;
    for (; tokens_.peek().is_text(); ++words) {
      const Token word = tokens_.take();
      if (words == 0) first = word;
      definition.name += (words == 0 ? "" : " ") + std::string(word.text);
    }
    if (tokens_.peek().is('=')) {
      tokens_.take();
      const Token key = tokens_.peek();
      if (!key.is_text()) return fail_expected("a P_Key", key);
      return read_p_key(tokens_.take(), definition);
    }
    if (words == 0)
      return fail(definition.place,
                  "this definition has neither a name nor a P_Key; write one of them before this");
    const bool is_number = words == 1 && first.kind == Token::Kind::Word &&
                           first.text.front() >= '0' && first.text.front() <= '9';
    if (!is_number) return true;
    definition.name.clear();
    return read_p_key(first, definition);
  }

  bool read_p_key(const Token& token, PartitionDefinition& definition) {
    std::uint64_t value = 0;
    constexpr std::uint64_t kMax = 0xFFFF, kBase = 0x7FFF;
    if (!ib::parse_number(token.text, kMax, value))
      return fail_expected("a P_Key from 0x0001 to 0x7fff (or with the membership bit, 0x8000)",
                           token);
    if ((value & kBase) == 0)
      return fail(token.place, fmt::format("P_Key {} names no partition: its low 15 bits are 0",
                                           describe(token)));
    definition.p_key = static_cast<std::uint16_t>(value & kBase);
    return true;
  }

  bool read_flag(PartitionDefinition& definition) {
    const Token word = tokens_.peek();
    if (word.kind == Token::Kind::Quoted)
      return fail_expected("a flag", word, "; write it without quotes");
    if (word.kind != Token::Kind::Word) return fail_expected("a flag", word);
    tokens_.take();
    if (equal_words(word.text, kIpoib)) return set_once(word, definition.ipoib);
    if (equal_words(word.text, kIndex0)) return set_once(word, definition.index0);
    if (equal_words(word.text, kDefmember)) return read_defmember(word);
    if (!is_group_flag(word.text)) return fail_unknown_flag(word, true);
    return read_group_flag(word, definition.flags);
  }
  bool set_once(const Token& word, bool& flag) {
    if (flag) return fail(word.place, fmt::format("duplicate {}", describe(word)));
    if (tokens_.peek().is('='))
      return fail(tokens_.peek().place, fmt::format("{} takes no value", describe(word)));
    return flag = true;
  }
  bool read_defmember(const Token& word) {
    if (default_) return fail(word.place, "duplicate default membership (defmember)");
    if (!tokens_.peek().is('='))
      return fail_expected("'=' and full, limited or both", tokens_.peek());
    tokens_.take();
    return read_membership(tokens_.peek(), default_.emplace());
  }
  bool fail_unknown_flag(const Token& word, bool in_header) {
    std::vector<std::string_view> known(group_flag_names().begin(), group_flag_names().end());
    if (in_header) known.insert(known.end(), {kIpoib, kIndex0, kDefmember});
    return fail(word.place,
                fmt::format("unknown flag {}{}", describe(word), did_you_mean(word.text, known)));
  }

  bool read_group_flag(const Token& word, GroupFlags& flags) {
    if (!tokens_.peek().is('='))
      return fail_expected(fmt::format("'=' and a value of {}", describe(word)), tokens_.peek());
    tokens_.take();
    const Token value = tokens_.peek();
    if (!value.is_text()) return fail_expected(fmt::format("a value of {}", describe(word)), value);
    tokens_.take();
    auto wrong = set_group_flag(word.text, value.text, flags);
    if (wrong.empty()) return true;
    const auto place = wrong.starts_with(kDuplicate) ? word.place : value.place;
    return fail(place, std::move(wrong));
  }

  // ---- members

  /// `Name = key : defmember=limited : list`, as the manual's example has it.
  bool read_second_colon() {
    skip_lines();
    const Token word = tokens_.peek();
    if (word.kind != Token::Kind::Word || !equal_words(word.text, kDefmember)) return true;
    tokens_.take();
    if (!read_defmember(word)) return false;
    skip_lines();
    if (!tokens_.peek().is(':')) return fail_expected("':' and the members", tokens_.peek());
    tokens_.take();
    return true;
  }

  /// Up to the ';'.
  bool read_members(PartitionDefinition& definition) {
    bool needs_comma = false;  // since the last member
    bool begins_line = true;   // nothing of this line, or since the ':', was taken yet
    bool empty_entry = false;  // a comma with nothing before it
    ib::TextPlace last;
    while (true) {
      const Token token = tokens_.peek();
      if (token.kind == Token::Kind::NewLine) {
        tokens_.take();
        begins_line = true;
        continue;
      }
      if (token.kind == Token::Kind::End) return end_without_semicolon(token, definition);
      if (token.is(';')) {
        tokens_.take();
        return true;
      }
      if (token.is(',')) {
        tokens_.take();
        if (!needs_comma && empty_entry)
          report(ib::Severity::Warning, token.place, "there is no member before this ','");
        needs_comma = false;
        empty_entry = true;
        begins_line = false;
        continue;
      }
      const bool is_mgid = token.kind == Token::Kind::Word && equal_words(token.text, kMgid) &&
                           tokens_.peek_second().is('=');
      if (needs_comma && !begins_line) return fail_after_member(token, definition);
      if (needs_comma && !is_mgid)
        report(ib::Severity::Warning, last, "a ',' is missing behind this member");
      if (is_mgid ? !read_mgid_line(definition, begins_line) : !read_member(definition))
        return false;
      last = token.place;
      needs_comma = !is_mgid;
      empty_entry = false;
      begins_line = false;
    }
  }

  /// A file that ends in the middle of a line as well may be cut anywhere: ALL may have been
  /// ALL_SWITCHES.
  bool end_without_semicolon(const Token& end, const PartitionDefinition& definition) {
    const std::string wrong =
        fmt::format("the definition of line {} does not end with ';'", definition.place.line);
    if (ends_its_last_line_) {
      report(ib::Severity::Warning, end.place, wrong);
      return true;
    }
    return fail(end.place, wrong + ", nor the last line with a line end: the file may be cut");
  }

  bool fail_after_member(const Token& got, const PartitionDefinition& definition) {
    std::string_view hint;
    if (got.is(':')) {
      hint = "; a ';' may be missing before this definition";
    } else if (!definition.members.empty() && definition.members.back().who.kind == Kind::Group) {
      hint = "; a name with blanks stands in quotes";
    }
    return fail_expected("',' or ';' after a member", got, hint);
  }

  bool read_member(PartitionDefinition& definition) {
    Member member;
    member.place = tokens_.peek().place;
    if (!read_selector(member.who)) return false;
    member.membership = default_.value_or(Membership::Limited);
    if (tokens_.peek().is('=')) {
      tokens_.take();
      if (!read_membership(tokens_.peek(), member.membership)) return false;
    }
    definition.members.push_back(std::move(member));
    return true;
  }

  bool read_selector(Selector& who) {
    const Token token = tokens_.peek();
    if (!token.is_text()) return fail_expected("a member (a GUID, ALL, SELF, a name)", token);
    tokens_.take();
    if (token.kind == Token::Kind::Quoted) return read_node(token, who);
    const char first = token.text.front();
    if (first >= '0' && first <= '9') return read_guids(token, who);
    for (const auto& [word, kind] : kSelectorWords) {
      if (!equal_words(token.text, word)) continue;
      who.kind = kind;
      return true;
    }
    // A beginning of a keyword is more likely a slip than a group.
    constexpr std::size_t kBeginningMin = 3;
    const bool is_beginning = token.text.size() >= kBeginningMin &&
                              std::ranges::any_of(kSelectorNames, [&](std::string_view word) {
                                return equal_words(word.substr(0, token.text.size()), token.text);
                              });
    const bool is_of_all = equal_words(token.text.substr(0, 4), "ALL_");
    if (is_beginning || (is_of_all && !equal_words(token.text, kAggregationNodes)))
      return fail(token.place, fmt::format("unknown member {}{}", describe(token),
                                           did_you_mean(token.text, kSelectorNames)));
    who.kind = Kind::Group;
    who.name = token.text;
    return true;
  }

  /// "NodeDescription", or "NodeDescription"/P2.
  bool read_node(const Token& token, Selector& who) {
    if (token.text.empty()) return fail(token.place, "the name of the node is empty");
    who.kind = Kind::Node;
    who.name = token.text;
    const Token next = tokens_.peek();
    if (next.kind != Token::Kind::Word || !next.text.starts_with('/')) return true;
    std::uint64_t port = 0;
    constexpr std::uint64_t kPortMax = 254;
    const bool good = next.text.size() > 2 && (next.text[1] == 'P' || next.text[1] == 'p') &&
                      ib::parse_number(next.text.substr(2), kPortMax, port);
    if (!good) return fail_expected("a port of the node, like /P1", next);
    tokens_.take();
    who.port = static_cast<std::uint8_t>(port);
    return true;
  }

  bool read_guids(const Token& token, Selector& who) {
    constexpr auto kMax = ~std::uint64_t{0};
    const auto dash = token.text.find('-');
    std::uint64_t first = 0, last = 0;
    bool good = ib::parse_number(token.text.substr(0, dash), kMax, first);
    if (dash == std::string_view::npos) {
      last = first;
    } else {
      good = good && ib::parse_number(token.text.substr(dash + 1), kMax, last);
    }
    if (!good)
      return fail_expected("a port GUID like 0x0002c90300a1b2c3, or a range of two with '-'",
                           token);
    if (first == 0 && dash == std::string_view::npos)
      return fail(token.place, "no port has the GUID 0");
    if (first > last) return fail(token.place, "the range ends before it begins");
    who.kind = Kind::Guids;
    who.first = ib::Guid{first};
    who.last = ib::Guid{last};
    return true;
  }

  bool read_membership(const Token& token, Membership& membership) {
    if (token.kind == Token::Kind::Quoted)
      return fail_expected("full, limited or both", token, "; write it without quotes");
    if (token.kind != Token::Kind::Word) return fail_expected("full, limited or both", token);
    std::size_t which = kMembershipNames.size();
    for (std::size_t i = 0; i < kMembershipNames.size(); ++i)
      if (equal_words(kMembershipNames[i].substr(0, token.text.size()), token.text)) which = i;
    if (which == kMembershipNames.size()) {
      const bool is_key = token.text.front() >= '0' && token.text.front() <= '9';
      return fail(token.place,
                  fmt::format("expected full, limited or both, got {}{}", describe(token),
                              is_key ? "; if a definition begins here, a ';' is missing before it"
                                     : did_you_mean(token.text, kMembershipNames)));
    }
    if (token.text.size() < kMembershipNames[which].size())
      report(ib::Severity::Warning, token.place,
             fmt::format("{} is read as '{}'; write the whole word", describe(token),
                         kMembershipNames[which]));
    tokens_.take();
    membership = kMemberships[which];
    return true;
  }

  // ---- mgid lines

  /// mgid=GID {, flag=value}, up to the end of the line or ';'.
  bool read_mgid_line(PartitionDefinition& definition, bool begins_line) {
    const Token word = tokens_.take();
    if (!begins_line) return fail(word.place, "an mgid entry begins a line of its own");
    tokens_.take();  // '='
    const Token text = tokens_.take_raw(",;");
    GroupLine group;
    group.place = word.place;
    if (!ib::parse_gid(text.text, group.mgid))
      return fail_expected("a multicast GID like ff12:401b::1", text);
    if (!group.mgid.is_multicast())
      return fail(text.place,
                  fmt::format("{} is no multicast GID: it does not begin with ff", describe(text)));
    while (tokens_.peek().is(',')) {
      tokens_.take();
      const Token flag = tokens_.peek();
      if (flag.kind == Token::Kind::NewLine) break;
      if (flag.kind != Token::Kind::Word) return fail_expected("a flag of the group", flag);
      tokens_.take();
      if (!is_group_flag(flag.text)) return fail_unknown_flag(flag, false);
      if (!read_group_flag(flag, group.flags)) return false;
    }
    definition.groups.push_back(std::move(group));
    const Token end = tokens_.peek();
    if (end.kind == Token::Kind::NewLine || end.kind == Token::Kind::End || end.is(';'))
      return true;
    return fail_expected("the end of the line after an mgid entry", end);
  }

  const std::string& file_;
  PartitionFile out_;
  Tokens tokens_;
  bool ends_its_last_line_;
  std::optional<Membership> default_;  // of the definition that is being read
};

}  // namespace

std::string to_string(const Selector& who) {
  switch (who.kind) {
    case Kind::Guids:
      return to_string(who.first) + (who.first == who.last ? "" : "-" + to_string(who.last));
    case Kind::Node:
      return fmt::format("\"{}\"{}", who.name, who.port ? fmt::format("/P{}", *who.port) : "");
    case Kind::Group:
      return who.name;
    default:
      for (const auto& [name, kind] : kSelectorWords)
        if (kind == who.kind) return std::string(name);
  }
  return {};
}

std::string_view word(Membership membership) {
  const auto at = std::ranges::find(kMemberships, membership);
  return kMembershipNames[static_cast<std::size_t>(at - std::begin(kMemberships))];
}

PartitionFile read_partition_file(std::string_view text, const std::string& file) {
  return Parser(text, file).run(text);
}

}  // namespace sm::policy
