// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/base/expression.h"

#include <regex.h>

#include <cctype>

namespace ib {

struct Expression::Compiled {
  ~Compiled() {
    if (whole) regfree(&regex);
  }
  regex_t regex{};
  bool whole{false};
};

Expression::Expression() : compiled_(std::make_unique<Compiled>()) {}
Expression::~Expression() = default;

std::shared_ptr<const Expression> Expression::of(const std::string& text) {
  constexpr std::size_t kBytesMost = 256;
  if (text.size() > kBytesMost || text.find('{') != std::string::npos) return nullptr;
  for (std::size_t i = 0; i + 1 < text.size(); ++i)
    if (text[i] == '\\' && std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0)
      return nullptr;
  std::shared_ptr<Expression> made(new Expression);
  made->compiled_->whole =
      regcomp(&made->compiled_->regex, text.c_str(), REG_NOSUB | REG_EXTENDED) == 0;
  if (!made->compiled_->whole) return nullptr;
  return made;
}

bool Expression::matches(const std::string& text) const {
  return regexec(&compiled_->regex, text.c_str(), 0, nullptr, 0) == 0;
}

}  // namespace ib
