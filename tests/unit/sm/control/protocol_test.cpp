// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/control/protocol.h"

#include <gtest/gtest.h>

namespace sm::control {
namespace {

std::string line(std::string text) {
  EXPECT_EQ(text.back(), '\n');
  text.pop_back();
  EXPECT_EQ(text.find('\n'), std::string::npos);
  return text;
}

TEST(ControlProtocol, RequestsAndAnswersAreReadAsTheyAreWritten) {
  const Request request{
      "partition", {"add", "0x1", "\"\\\n"}, {{"owner", "a b"}, {"json", "TRUE"}}};
  EXPECT_EQ(decode_request(line(encode(request))).value(), request);
  const Answer answer{1, "two\nlines \"quoted\"\n"};
  EXPECT_EQ(decode_answer(line(encode(answer))).value(), answer);
}

TEST(ControlProtocol, WhatIsNoUtf8IsWrittenAllTheSame) {
  EXPECT_TRUE(decode_answer(line(encode(Answer{0, "\xff\xfe"}))));
}

TEST(ControlProtocol, KeysOfALaterReleaseArePassedOver) {
  EXPECT_EQ(decode_request(R"({"verb": "x", "colour": {"of": ["this"]}})").value().verb, "x");
}

TEST(ControlProtocol, SaysWhatWasExpected) {
  const auto message = [](std::string_view text) { return decode_request(text).error().message; };
  EXPECT_EQ(message("partition list"), "expected a request as a JSON object");
  EXPECT_EQ(message("[]"), "expected a request as a JSON object");
  EXPECT_EQ(message("{}"), "\"verb\": expected a text");
  EXPECT_EQ(message(R"({"verb": 1})"), "\"verb\": expected a text");
  EXPECT_EQ(message(R"({"verb": "x", "words": "y"})"), "\"words\": expected a list of texts");
  EXPECT_EQ(message(R"({"verb": "x", "words": [1]})"), "\"words\": expected a list of texts");
  EXPECT_EQ(message(R"({"verb": "x", "options": []})"), "\"options\": expected an object of texts");
  EXPECT_EQ(message(R"({"verb": "x", "options": {"a": 1}})"),
            "\"options\": expected an object of texts");
  EXPECT_EQ(decode_answer(R"({"status": "0", "text": ""})").error().message,
            "\"status\": expected a number");
  EXPECT_FALSE(decode_request(std::string(100'000, '[')));
}

}  // namespace
}  // namespace sm::control
