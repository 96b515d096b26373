// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/control/protocol.h"

#include <nlohmann/json.hpp>

namespace sm::control {
namespace {

using Json = nlohmann::ordered_json;

/// Texts of clients need not be UTF-8.
std::string line_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

ib::Result<Json> object_of(std::string_view line, const char* what) {
  // Nested deeper than a message is, text is no message: the parser recurses.
  Json value = Json::parse(
      line, [](int depth, Json::parse_event_t, Json&) { return depth <= 3; }, false);
  if (!value.is_object())
    return ib::fail(ib::ErrorKind::Usage, std::string("expected ") + what + " as a JSON object");
  return value;
}

tl::unexpected<ib::Error> wrong(const char* key, const char* expected) {
  return ib::fail(ib::ErrorKind::Usage, std::string("\"") + key + "\": expected " + expected);
}

}  // namespace

std::string encode(const Request& request) {
  Json value;
  value["verb"] = request.verb;
  value["words"] = request.words;
  value["options"] = request.options;
  return line_of(value);
}

std::string encode(const Answer& answer) {
  Json value;
  value["status"] = answer.status;
  value["text"] = answer.text;
  return line_of(value);
}

ib::Result<Request> decode_request(std::string_view line) {
  auto value = object_of(line, "a request");
  if (!value) return tl::unexpected<ib::Error>(std::move(value.error()));
  Request request;
  for (const auto& [key, part] : value->items()) {
    if (key == "verb") {
      if (!part.is_string()) return wrong("verb", "a text");
      request.verb = part.get<std::string>();
    } else if (key == "words") {
      if (!part.is_array()) return wrong("words", "a list of texts");
      for (const Json& word : part) {
        if (!word.is_string()) return wrong("words", "a list of texts");
        request.words.push_back(word.get<std::string>());
      }
    } else if (key == "options") {
      if (!part.is_object()) return wrong("options", "an object of texts");
      for (const auto& [name, option] : part.items()) {
        if (!option.is_string()) return wrong("options", "an object of texts");
        request.options[name] = option.get<std::string>();
      }
    }  // what a later release says besides is not for this one
  }
  if (request.verb.empty()) return wrong("verb", "a text");
  return request;
}

ib::Result<Answer> decode_answer(std::string_view line) {
  auto value = object_of(line, "an answer");
  if (!value) return tl::unexpected<ib::Error>(std::move(value.error()));
  const auto status = value->find("status"), text = value->find("text");
  if (status == value->end() || !status->is_number_integer()) return wrong("status", "a number");
  if (text == value->end() || !text->is_string()) return wrong("text", "a text");
  return Answer{status->get<int>(), text->get<std::string>(), {}};
}

}  // namespace sm::control
