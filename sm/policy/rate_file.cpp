// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/rate_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "libdiag/base/text.h"
#include "sm/policy/text_line.h"
#include "sm/policy/tokens.h"
#include "sm/policy/words.h"

namespace sm::policy {
namespace {

constexpr std::string_view kNames = "BW_NAMES", kRules = "BW_RULES", kDefault = "default";
constexpr std::size_t kDiagnosticsMax = 200;

class Parser {
 public:
  Parser(std::string_view text, const std::string& file)
      : file_(file), tokens_(text, file, out_.diagnostics) {}

  RateFile run(std::string_view text) {
    if (auto wrong = not_text(text, file_)) {
      out_.diagnostics.assign(1, *std::move(wrong));
      return std::move(out_);
    }
    enum class Section { None, Names, Rules } section = Section::None;
    for (Token token = next(); token.kind != Token::Kind::End; token = next()) {
      if (out_.diagnostics.size() >= kDiagnosticsMax) break;
      if (equal_words(token.text, kNames)) {
        section = Section::Names;
      } else if (equal_words(token.text, kRules)) {
        section = Section::Rules;
      } else if (section == Section::None) {
        fail_expected(fmt::format("{} or {}", kNames, kRules), token);
      } else if (!token.is_text()) {
        fail_expected(section == Section::Names ? "a bandwidth name" : "a port GUID or group",
                      token);
      } else if (section == Section::Names) {
        read_name(token);
      } else {
        read_rule(token);
      }
    }
    std::ranges::stable_sort(out_.diagnostics, {}, &ib::Diagnostic::place);
    return std::move(out_);
  }

 private:
  /// Line ends mean nothing here.
  Token next() {
    while (tokens_.peek().kind == Token::Kind::NewLine) tokens_.take();
    return tokens_.take();
  }
  bool next_is(char mark) {
    while (tokens_.peek().kind == Token::Kind::NewLine) tokens_.take();
    if (!tokens_.peek().is(mark)) return false;
    tokens_.take();
    return true;
  }
  bool fail(ib::TextPlace place, std::string message) {
    out_.diagnostics.push_back({ib::Severity::Error, file_, place, std::move(message)});
    // The rest of the line belongs to what was wrong.
    while (tokens_.peek().kind != Token::Kind::End && tokens_.peek().kind != Token::Kind::NewLine)
      tokens_.take();
    return false;
  }
  bool fail_expected(std::string_view what, const Token& got) {
    return fail(got.place, fmt::format("expected {}, got {}", what, describe(got)));
  }

  /// NAME = Mb/s
  bool read_name(const Token& name) {
    if (!next_is('=')) return fail_expected("'=' and a rate in Mb/s", tokens_.peek());
    const Token value = next();
    std::uint64_t rate = 0;
    constexpr std::uint64_t kRateMax = 0xFFFFFFFF;
    if (!ib::parse_number(value.text, kRateMax, rate))
      return fail_expected(
          fmt::format("a rate in Mb/s from 0 (unlimited) to {}, without a unit", kRateMax), value);
    const auto [at, fresh] = rates_.emplace(name.text, static_cast<std::uint32_t>(rate));
    if (!fresh) return fail(name.place, fmt::format("{} is defined twice", describe(name)));
    return true;
  }

  /// GUID, group or default = SL:NAME {, SL:NAME}
  bool read_rule(const Token& who) {
    RateRule rule;
    rule.place = who.place;
    const bool is_default = who.kind == Token::Kind::Word && equal_words(who.text, kDefault);
    const bool is_guid =
        who.kind == Token::Kind::Word && who.text.front() >= '0' && who.text.front() <= '9';
    if (is_guid) {
      std::uint64_t guid = 0;
      if (!ib::parse_number(who.text, ~std::uint64_t{0}, guid) || guid == 0)
        return fail_expected("a port GUID, a port group or default", who);
      rule.guid = ib::Guid{guid};
    } else if (!is_default) {
      rule.group = who.text;
    }
    if (!next_is('=')) return fail_expected("'=' and SL:NAME", tokens_.peek());
    std::uint32_t said = 0;  // SLs, as bits
    do {
      if (!read_limit(rule, said)) return false;
    } while (next_is(','));
    return keep(rule, who, is_default);
  }

  bool read_limit(RateRule& rule, std::uint32_t& said) {
    const Token sl = next();
    std::uint64_t number = 0;
    if (!ib::parse_number(sl.text, 15, number)) return fail_expected("an SL from 0 to 15", sl);
    if (!next_is(':')) return fail_expected("':' and a bandwidth name", tokens_.peek());
    const Token name = next();
    if (!name.is_text()) return fail_expected("a bandwidth name", name);
    const auto rate = rates_.find(name.text);
    if (rate == rates_.end()) {
      std::vector<std::string_view> known;
      known.reserve(rates_.size());
      for (const auto& [word, value] : rates_) known.push_back(word);
      return fail(name.place, fmt::format("no bandwidth is named {}{}", describe(name),
                                          did_you_mean(name.text, known)));
    }
    if (((said >> number) & 1U) != 0)
      return fail(sl.place, fmt::format("duplicate SL {} in this rule", number));
    said |= 1U << number;
    rule.rates[number] = rate->second;
    return true;
  }

  bool keep(const RateRule& rule, const Token& who, bool is_default) {
    const bool twice =
        is_default ? has_default_ : std::ranges::any_of(out_.rules, [&](const RateRule& r) {
          return r.guid == rule.guid && equal_words(r.group, rule.group);
        });
    if (twice) return fail(who.place, fmt::format("{} has a rule already", describe(who)));
    if (is_default) {
      has_default_ = true;
      out_.others = rule.rates;
    } else {
      out_.rules.push_back(rule);
    }
    return true;
  }

  const std::string& file_;
  RateFile out_;
  Tokens tokens_;
  std::map<std::string, std::uint32_t, std::less<>> rates_;
  bool has_default_{false};
};

}  // namespace

RateFile read_rate_file(std::string_view text, const std::string& file) {
  return Parser(text, file).run(text);
}

}  // namespace sm::policy
