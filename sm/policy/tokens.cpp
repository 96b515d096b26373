// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/policy/tokens.h"

#include <array>

#include "libdiag/base/text.h"
#include "sm/policy/quotes.h"

namespace sm::policy {
namespace {

constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}
constexpr bool is_mark(char c) { return c == '=' || c == ',' || c == ':' || c == ';'; }
/// One look for most characters of a file.
constexpr auto kMayEndWord = [] {
  std::array<bool, 256> out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const char c = static_cast<char>(i);
    out[i] = is_blank(c) || is_mark(c) || may_be_quote(c) || c == '\n' || c == '#';
  }
  return out;
}();
/// Whether the word goes on with the first character of `text`.
bool is_of_word(std::string_view text) {
  return !kMayEndWord[static_cast<unsigned char>(text.front())] ||
         (may_be_quote(text.front()) && quote_length(text) == 0);
}

}  // namespace

std::string describe(const Token& token) {
  constexpr std::size_t kShownMax = 40;
  switch (token.kind) {
    case Token::Kind::NewLine:
      return "the end of the line";
    case Token::Kind::End:
      return "the end of the file";
    default:
      return "'" + ib::printable(token.text.substr(0, kShownMax)) + "'";
  }
}

Tokens::Tokens(std::string_view text, const std::string& file,
               std::vector<ib::Diagnostic>& problems)
    : text_(text), file_(file), problems_(problems) {
  for (int i = 0; i < 2; ++i) {
    before_[i] = {at_, line_start_, line_};
    ahead_[i] = scan();
  }
}

Token Tokens::take() {
  const Token taken = ahead_[0];
  ahead_[0] = ahead_[1];
  before_[0] = before_[1];
  before_[1] = {at_, line_start_, line_};
  ahead_[1] = scan();
  return taken;
}

Token Tokens::take_raw(std::string_view ends_at) {
  at_ = before_[0].at;
  line_start_ = before_[0].line_start;
  line_ = before_[0].line;
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  Token raw;
  raw.kind = Token::Kind::Word;
  raw.place = place();
  const std::size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '#' &&
         ends_at.find(text_[at_]) == std::string_view::npos)
    ++at_;
  raw.text = ib::trim(text_.substr(begin, at_ - begin));
  for (int i = 0; i < 2; ++i) {
    before_[i] = {at_, line_start_, line_};
    ahead_[i] = scan();
  }
  return raw;
}

Token Tokens::scan() {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  if (at_ < text_.size() && text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
  Token token;
  token.place = place();
  if (at_ == text_.size()) return token;
  const char c = text_[at_];
  if (c == '\n') {
    token.kind = Token::Kind::NewLine;
    token.text = text_.substr(at_++, 1);
    ++line_;
    line_start_ = at_;
    return token;
  }
  if (is_mark(c)) {
    token.kind = Token::Kind::Mark;
    token.text = text_.substr(at_++, 1);
    return token;
  }
  if (quote_length(text_.substr(at_)) != 0) return scan_quoted();
  token.kind = Token::Kind::Word;
  const std::size_t begin = at_;
  while (at_ < text_.size() && is_of_word(text_.substr(at_))) ++at_;
  token.text = text_.substr(begin, at_ - begin);
  return token;
}

Token Tokens::scan_quoted() {
  Token token;
  token.kind = Token::Kind::Quoted;
  token.place = place();
  at_ += quote_length(text_.substr(at_));
  const std::size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != '\n') {
    if (const auto quote = quote_length(text_.substr(at_)); quote != 0) {
      token.text = text_.substr(begin, at_ - begin);
      at_ += quote;
      return token;
    }
    ++at_;
  }
  token.text = ib::trim(text_.substr(begin, at_ - begin));
  problems_.push_back({ib::Severity::Error, file_, token.place,
                       "the quote that begins here is not closed on this line"});
  return token;
}

}  // namespace sm::policy
