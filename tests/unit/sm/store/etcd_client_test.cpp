// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "sm/store/etcd/base64.h"
#include "sm/store/etcd/batch_code.h"
#include "sm/store/etcd/client.h"
#include "sm/store/etcd/layout.h"
#include "tests/unit/sm/store/samples.h"

namespace sm::store::etcd {
namespace {

using ib::ErrorKind;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// As etcd 3.4.23 answers.
constexpr const char* kDone = R"({"header":{"cluster_id":"324952591200643719","revision":"3"},)"
                              R"("succeeded":true,"responses":[{"response_put":{"header":)"
                              R"({"revision":"3"}}},{"response_delete_range":{"header":{}}}]})";
constexpr const char* kNotDone =
    R"({"header":{"revision":"2"},"responses":[{"response_range":{"header":{"revision":"2"},)"
    R"("kvs":[{"key":"L3gvZXBvY2g=","create_revision":"2","value":"MQ=="}],"count":"1"}},)"
    R"({"response_range":{"header":{"revision":"2"}}}]})";
constexpr const char* kNoToken =
    R"({"error":"etcdserver: invalid auth token","message":"etcdserver: invalid auth token","code":16})";

struct Script {
  std::deque<ib::Result<HttpAnswer>> answers;
  std::vector<HttpRequest> asked;
  int silences{0};  // first; each lasts as long as it may
  ib::Instant now{};
};
class FakePoster final : public Poster {
 public:
  explicit FakePoster(Script& script) : script_(script) {}
  ib::Result<HttpAnswer> post(const HttpRequest& request) override {
    script_.asked.push_back(request);
    if (script_.silences-- > 0) {
      script_.now = script_.now + request.within;
      return ib::fail(ErrorKind::TimedOut, "timed out");
    }
    if (script_.answers.empty()) return ib::fail(ErrorKind::TimedOut, "refused");
    auto answer = std::move(script_.answers.front());
    script_.answers.pop_front();
    return answer;
  }

 private:
  Script& script_;
};

ib::Result<HttpAnswer> good(std::string body) { return HttpAnswer{200, std::move(body)}; }
ib::Result<HttpAnswer> bad(long status, int code, const std::string& words) {
  return HttpAnswer{status, R"({"error":")" + words + R"(","code":)" + std::to_string(code) + "}"};
}
ib::Result<HttpAnswer> silence() { return ib::fail(ErrorKind::TimedOut, "timed out"); }

class EtcdClient : public ::testing::Test {
 protected:
  Client client(std::vector<std::string> endpoints, std::string user = {}) {
    return {{std::move(endpoints), std::move(user), "secret", [this] { return script.now; }},
            std::make_unique<FakePoster>(script)};
  }
  std::vector<std::string> urls() const {
    std::vector<std::string> all;
    for (const auto& r : script.asked) all.push_back(r.url);
    return all;
  }
  Script script;
};

TEST_F(EtcdClient, AsksTheMembersInTurnAndBeginsWithTheOneThatAnswered) {
  auto c = client({"http://a:1", "http://b:2"});
  script.answers = {silence(), good(kDone), good(kDone)};
  EXPECT_TRUE(c.ask(Txn{}));
  EXPECT_TRUE(c.ask(Txn{}));
  EXPECT_THAT(urls(),
              ElementsAre("http://a:1/v3/kv/txn", "http://b:2/v3/kv/txn", "http://b:2/v3/kv/txn"));
}

TEST_F(EtcdClient, AllMembersTogetherTakeLessThanAClientOfTheSaWaits) {
  auto c = client({"http://a:1", "http://b:2", "http://c:3"});
  script.answers = {silence()};  // refused at once
  EXPECT_FALSE(c.ask(Txn{}));
  EXPECT_EQ(script.asked[0].within, std::chrono::milliseconds(500));
  EXPECT_EQ(script.asked[1].within, std::chrono::milliseconds(750));
  script.silences = 3;
  EXPECT_FALSE(c.ask(Txn{}));
  EXPECT_EQ(script.now - ib::Instant{}, std::chrono::milliseconds(1500));
}

TEST_F(EtcdClient, WithoutALeaderAnotherMemberIsAsked) {
  auto c = client({"http://a:1", "http://b:2"});
  script.answers = {bad(503, 14, "etcdserver: no leader"),
                    bad(504, 4, "context deadline exceeded")};
  const auto answer = c.ask(Txn{});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::TimedOut);
  EXPECT_THAT(answer.error().message,
              AllOf(HasSubstr("http://a:1"), HasSubstr("no leader"), HasSubstr("deadline")));
}

TEST_F(EtcdClient, ARefusalIsOfTheClusterAndNobodyElseIsAsked) {
  auto c = client({"http://a:1", "http://b:2"});
  script.answers = {bad(429, 8, "etcdserver: mvcc: database space exceeded")};
  const auto answer = c.ask(Txn{});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::Refused);
  EXPECT_THAT(answer.error().message, HasSubstr("database space exceeded"));
  EXPECT_THAT(script.asked, SizeIs(1));
}

TEST_F(EtcdClient, WhatIsNoEtcdIsNotBelieved) {
  auto c = client({"http://a:1"});
  script.answers = {HttpAnswer{404, "Not Found"}, good("<html>"), good(R"({"responses":7})")};
  EXPECT_EQ(c.ask(Txn{}).error().kind, ErrorKind::TimedOut);
  EXPECT_EQ(c.ask(Txn{}).error().kind, ErrorKind::Malformed);
  EXPECT_EQ(c.ask(Txn{}).error().kind, ErrorKind::Malformed);
  EXPECT_EQ(script.asked[0].within, std::chrono::milliseconds(1500));
}

TEST_F(EtcdClient, AuthenticatesAndDoesSoAgainWhenItsTokenIsNotKnownAnyMore) {
  auto c = client({"http://a:1"}, "ibsm");
  script.answers = {good(R"({"token":"one"})"), good(kDone), HttpAnswer{401, kNoToken},
                    good(R"({"token":"two"})"), good(kDone)};
  EXPECT_TRUE(c.ask(Txn{}));
  EXPECT_TRUE(c.ask(Txn{}));
  EXPECT_EQ(script.asked[0].url, "http://a:1/v3/auth/authenticate");
  EXPECT_EQ(script.asked[0].body, R"({"name":"ibsm","password":"secret"})");
  EXPECT_EQ(script.asked[1].token, "one");
  EXPECT_EQ(script.asked[4].token, "two");
}

TEST_F(EtcdClient, AWrongPasswordIsARefusal) {
  auto c = client({"http://a:1"}, "ibsm");
  script.answers = {bad(400, 3, "authentication failed, invalid user ID or password")};
  const auto answer = c.ask(Txn{});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::Refused);
}

TEST(EtcdRequests, AreTheGatewaysJson) {
  Txn txn;
  txn.conditions = {{"/x/epoch", "1"}, {"/x/head", std::nullopt}};
  txn.puts = {{"/x/a", std::string("\0\xff", 2)}};
  txn.removes = {KeyRange::under("/x/log/")};
  txn.otherwise = {{"/x/epoch", {}}};
  EXPECT_EQ(
      text_of(txn),
      R"({"compare":[{"key":"L3gvZXBvY2g=","result":"EQUAL","target":"VALUE","value":"MQ=="},)"
      R"({"key":"L3gvaGVhZA==","result":"EQUAL","target":"VERSION","version":"0"}],)"
      R"("failure":[{"request_range":{"key":"L3gvZXBvY2g="}}],)"
      R"("success":[{"request_put":{"key":"L3gvYQ==","value":"AP8="}},)"
      R"({"request_delete_range":{"key":"L3gvbG9nLw==","range_end":"L3gvbG9nMA=="}}]})");
  EXPECT_EQ(text_of(RangeRequest{{"a", "b"}, 8, 5}),
            R"({"key":"YQ==","limit":"8","range_end":"Yg==","revision":"5","sort_order":"ASCEND",)"
            R"("sort_target":"KEY"})");
}

TEST(EtcdAnswers, LackWhatHasItsDefault) {
  const auto done = read_txn_answer(kDone);
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->succeeded);
  EXPECT_EQ(done->revision, 3);
  EXPECT_THAT(done->reads, SizeIs(0));
  const auto not_done = read_txn_answer(kNotDone);
  ASSERT_TRUE(not_done);
  EXPECT_FALSE(not_done->succeeded);
  EXPECT_THAT(not_done->reads, ElementsAre(ElementsAre(KeyValue{"/x/epoch", "1"}), SizeIs(0)));
}

TEST(EtcdAnswers, AreNoBetterThanTheyAre) {
  EXPECT_FALSE(read_range_answer(R"({"kvs":[{"key":"!"}]})"));
  EXPECT_FALSE(read_range_answer(R"({"kvs":[3]})"));
  EXPECT_FALSE(read_range_answer(R"({"kvs":{}})"));
  EXPECT_FALSE(read_token(R"({"token":"a\r\nX: b"})"));
  EXPECT_FALSE(read_token(R"({})"));
  EXPECT_EQ(read_refusal("[").code, 0);
}

TEST(Base64, IsThatOfRfc4648) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
  for (const char* wrong : {"Zg=", "Z===", "Zg=a", "====", "Z g=", "Zm9v\n"})
    EXPECT_EQ(from_base64(wrong), std::nullopt) << wrong;
}

/// The example of doc/store.md.
TEST(BatchCode, AnEmptyOneIsAMarkAndASum) {
  EXPECT_EQ(encode(Batch{}), std::string("ibkb\x01\x0e\x72\xf4\x6b\xf9\xa5\xa8\xce", 13));
}

TEST(BatchCode, ReadsWhatItWrites) {
  constexpr unsigned kSeed = 20263;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  for (int round = 0; round < 200; ++round) {
    const Batch batch = random_batch(random);
    const auto again = decode(encode(batch));
    ASSERT_TRUE(again);
    Contents one, other;
    for (int i = 0; i < 3; ++i) {
      const Batch before = random_batch(random);
      apply(before, one);
      apply(before, other);
    }
    apply(batch, one);
    apply(*again, other);
    EXPECT_EQ(one, other);
    EXPECT_EQ(encode(*again), encode(batch));
  }
}

TEST(BatchCode, NoticesEveryFlippedBitAndEveryCut) {
  std::mt19937 random(20264);
  const std::string bytes = encode(random_batch(random));
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    ASSERT_FALSE(decode(changed)) << bit;
  }
  for (std::size_t size = 0; size < bytes.size(); ++size)
    ASSERT_FALSE(decode(bytes.substr(0, size))) << size;
}

TEST(EtcdLayout, ReadsWhatItWrites) {
  const Head head{"fe80000000000000", 17, 3, 40, 42};
  EXPECT_EQ(*read_head(text_of(head)), head);
  const Epoch epoch{9, "host:1:2"};
  EXPECT_EQ(*read_epoch(text_of(epoch)), epoch);
  EXPECT_EQ(log_key("/p/", 7), "/p/log/00000000000000000007");
  EXPECT_EQ(snapshot_key("/p/", 7, 2), "/p/snapshot/00000000000000000007/000002");
  Head wrong = head;
  wrong.snapshot_at = 43;
  EXPECT_FALSE(read_head(text_of(wrong)));
}

}  // namespace
}  // namespace sm::store::etcd
