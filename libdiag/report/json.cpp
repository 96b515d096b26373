// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/report/json.h"

#include <nlohmann/json.hpp>

#include "libdiag/base/text.h"

namespace ib::report {

using Json = nlohmann::ordered_json;

namespace {

std::string text_of(const Json& scalar) {
  return scalar.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const char* kind_word(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Usage:
      return "usage";
    case ErrorKind::NotFound:
      return "not found";
    case ErrorKind::Unavailable:
      return "unavailable";
    case ErrorKind::TimedOut:
      return "timed out";
    case ErrorKind::Refused:
      return "refused";
    case ErrorKind::Malformed:
      return "malformed";
    case ErrorKind::Io:
      return "i/o";
    case ErrorKind::Internal:
      break;
  }
  return "internal";
}

}  // namespace

void JsonWriter::new_line() {
  text_ += '\n';
  text_.append(levels_.size() * 2, ' ');
}

/// Comma, line and indentation before an item.
void JsonWriter::separate(bool container) {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) return;
  Level& level = levels_.back();
  if (!level.empty) text_ += ',';
  if (level.array) {
    // Scalars share a line; objects of an outer array get one each.
    if (container && (level.lines || levels_.size() <= 3)) {
      level.inline_items = false;
      new_line();
    } else if (!level.empty) {
      text_ += ' ';
    }
  } else if (level.inline_items) {
    if (!level.empty) text_ += ' ';
  } else {
    new_line();
  }
  level.empty = false;
}

JsonWriter& JsonWriter::begin_object() {
  const bool in_array = !levels_.empty() && levels_.back().array;
  const bool inside_inline = in_array || (!levels_.empty() && levels_.back().inline_items);
  separate(true);
  text_ += '{';
  levels_.push_back({false, inside_inline, true});
  return *this;
}

JsonWriter& JsonWriter::begin_array(Items items) {
  separate(true);
  text_ += '[';
  levels_.push_back({true, true, true, items == Items::Lines});
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.inline_items && !level.empty) new_line();
  text_ += '}';
  if (levels_.empty()) text_ += '\n';
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.inline_items && !level.empty) new_line();
  text_ += ']';
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  value(name);
  text_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view text) {
  separate(false);
  text_ += text;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) { return raw(text_of(printable(text))); }

JsonWriter& JsonWriter::value(double number) { return raw(text_of(number)); }

JsonWriter& JsonWriter::tree(const Json& value) {
  if (value.is_object()) {
    begin_object();
    for (const auto& [name, member] : value.items()) key(name).tree(member);
    return end_object();
  }
  if (value.is_array()) {
    begin_array();
    for (const Json& item : value) tree(item);
    return end_array();
  }
  if (value.is_string()) return this->value(value.get_ref<const std::string&>());
  return raw(text_of(value));
}

JsonWriter& JsonWriter::value(Guid guid) { return value(to_string(guid)); }

std::string JsonWriter::take() { return std::move(text_); }

void begin_document(JsonWriter& json, const Envelope& envelope) {
  json.begin_object();
  json.field("schema", envelope.schema);
  json.field("tool", envelope.tool);
  json.field("version", envelope.version);
  json.field("complete", envelope.complete);
  json.key("errors").begin_array();
  for (const std::string& error : envelope.errors) json.value(error);
  json.end_array();
}

std::string failure_document(const std::string& schema, const std::string& tool,
                             const std::string& version, const Error& error, int status,
                             std::vector<std::string> before) {
  JsonWriter json;
  std::vector<std::string> lines = std::move(before);
  for (const auto line : split(error.message, '\n')) lines.emplace_back(line);
  begin_document(json, {schema, tool, version, false, lines});
  json.key("error").begin_object();
  json.field("status", status);
  json.field("kind", kind_word(error.kind));
  json.field("message", error.message);
  json.end_object().end_object();
  return json.take();
}

}  // namespace ib::report
