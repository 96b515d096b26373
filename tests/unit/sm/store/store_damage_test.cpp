// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Damage in a store's file: of whatever kind, ibsm starts, says so, and loses nothing that can
// still be read. IBKIT_BITS=all flips each bit of a small store, else every 997th is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/unit/sm/store/samples.h"

namespace sm::store {
namespace {

namespace fs = std::filesystem;
using ib::Guid;
using ib::Lid;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::size_t kPage = 4096;

auto says(const std::string& text) { return Field(&ib::LogEvent::message, HasSubstr(text)); }

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}
void run_sql(const std::string& path, const char* sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
}

Opened open_anyhow(const Directory& directory) {
  auto opened = open_directory(directory.path());
  EXPECT_TRUE(opened) << opened.error().message;
  return opened ? *std::move(opened) : Opened{};
}

/// A few records of each kind, after some that were removed and replaced.
Batch few_of_each() {
  Batch batch;
  batch.lids = {{Guid{0xF00000000000000AULL}, Lid{0xBFFF}, 7}, {Guid{2}, Lid{1}, 0}};
  batch.groups = {group(0), group(1)};
  batch.members = {member(0, 0xF000000000000001ULL, 1), member(1, 4, 8), member(1, 6, 1)};
  batch.services = {service(0xF000000000000001ULL, 1), service(2, 0)};
  batch.subscriptions = {subscription(9, 3, true), subscription(9, 4, false)};
  batch.aliases = {{Guid{0xF000000000000001ULL}, 2047, Guid{0xE000000000000001ULL}},
                   {Guid{0xF000000000000001ULL}, 1, Guid{7}}};
  batch.partition_members = {{0x7FFF, Guid{0xF000000000000001ULL}, 2, "cluster manager"},
                             {1, Guid{7}, 3, ""}};
  batch.generated_p_keys = {{"storage", 1}, {"two words", 0x7FFE}};
  batch.counted_windows = {
      {{Guid{0xF000000000000001ULL}, 1, 1'764'194'400}, 1'764'195'000'123, {std::byte{7}}},
      {{Guid{0xF000000000000001ULL}, 254, -3600}, -1, {std::byte{1}, std::byte{0xFF}}}};
  batch.clients_to_ask = {kAllClients, Guid{0xF000000000000001ULL}};
  batch.clients_in_doubt = {Guid{7}, Guid{0xF000000000000001ULL}};
  batch.writers = {Guid{6}, Guid{0xF000000000000001ULL}};
  batch.vls = DeviceVls::Told;
  batch.routes = {std::byte{1}, std::byte{0xF0}, std::byte{0}};
  return batch;
}
Contents make_small(Store& store) {
  Batch gone = few_of_each();
  gone.lids.push_back({Guid{3}, Lid{3}, 0});
  gone.groups.push_back(group(2));
  gone.members.push_back(member(2, 4, 1));
  gone.members.push_back(member(1, 8, 1));
  gone.services.push_back(service(3, 2));
  gone.subscriptions.push_back(subscription(8, 1, true));
  gone.aliases.push_back({Guid{1}, 1, Guid{9}});
  gone.partition_members.push_back({2, Guid{7}, 1, "x"});
  gone.counted_windows.push_back({{Guid{7}, 1, 0}, 0, {std::byte{1}}});
  gone.clients_to_ask.push_back(Guid{8});
  gone.clients_in_doubt.push_back(Guid{8});
  EXPECT_TRUE(store.commit(gone));
  Batch after = few_of_each();
  after.lids_removed = {Guid{3}};
  after.groups_removed = {mgid(2)};
  after.members.push_back(member(1, 8, 0));
  after.services_removed = {service(3, 2).key()};
  after.subscriptions_removed = {subscription(8, 1, true)};
  after.aliases_forgotten = {{Guid{1}, std::uint16_t{1}}};
  after.partition_members.push_back({2, Guid{7}, 0, ""});
  after.counted_windows_removed = {{Guid{7}, 1, 0}};
  after.clients_asked = {Guid{8}};
  after.clients_sure = {Guid{8}};
  EXPECT_TRUE(store.commit(after));
  return *store.load();
}

std::size_t records(const Contents& c) {
  return c.lids.size() + c.groups.size() + c.members.size() + c.services.size() +
         c.subscriptions.size() + c.aliases.size() + c.partition_members.size() +
         c.generated_p_keys.size() + c.counted_windows.size() + c.clients_to_ask.size() +
         c.clients_in_doubt.size() + c.writers.size() + (c.vls == DeviceVls::Untouched ? 0 : 1) +
         (c.routes.empty() ? 0 : 1);
}
/// Every record of `part` is in `whole`, as it is there.
bool is_part(const Contents& part, const Contents& whole) {
  const auto in = [](const auto& some, const auto& all) {
    return std::all_of(some.begin(), some.end(), [&](const auto& one) {
      return std::find(all.begin(), all.end(), one) != all.end();
    });
  };
  return in(part.lids, whole.lids) && in(part.groups, whole.groups) &&
         in(part.members, whole.members) && in(part.services, whole.services) &&
         in(part.subscriptions, whole.subscriptions) && in(part.aliases, whole.aliases) &&
         in(part.partition_members, whole.partition_members) &&
         in(part.generated_p_keys, whole.generated_p_keys) &&
         in(part.counted_windows, whole.counted_windows) &&
         in(part.clients_to_ask, whole.clients_to_ask) &&
         in(part.clients_in_doubt, whole.clients_in_doubt) && in(part.writers, whole.writers) &&
         (part.vls == DeviceVls::Untouched || part.vls == whole.vls) &&
         (part.routes.empty() || part.routes == whole.routes);
}

/// Opens what is there after one bit of `file` was flipped and holds it to the promise. What is
/// wrong with that, empty if nothing.
std::string flaw_after_flip(const Directory& directory, const Contents& before) {
  auto opened = open_directory(directory.path());
  if (!opened) return "does not start: " + opened.error().message;
  const Contents after = opened->contents;
  if (!is_part(after, before)) return "invents a record";
  if (records(after) + 1 < records(before))
    return "loses " + std::to_string(records(before) - records(after)) + " records";
  if (after == before) return {};
  const bool said = std::any_of(opened->lines.begin(), opened->lines.end(),
                                [](const auto& line) { return line.level == ib::LogLevel::Error; });
  if (!said) return "loses a record in silence";
  // One line says what became of the file, the next names the record.
  if (opened->lines.size() < 2) return "does not name the record that is lost";
  if (opened->found == Found::All) return "says that nothing is lost";
  Batch more;
  more.lids = {{Guid{77}, Lid{77}, 0}};
  if (!opened->store->commit(more)) return "cannot write";
  opened->store.reset();
  opened = open_directory(directory.path());
  if (!opened || !opened->lines.empty()) return "is not well the next time";
  return records(opened->contents) == records(after) + 1 ? "" : "does not keep what was saved";
}

std::size_t stride() {
  const char* bits = std::getenv("IBKIT_BITS");
  return bits != nullptr && std::string(bits) == "all" ? 1 : 997;
}

TEST(StoreDamage, OneFlippedBitCostsOneRecordAtMost) {
  Directory original;
  const Contents before = make_small(*open_anyhow(original).store);
  const std::string bytes = read_file(original.database());
  ASSERT_EQ(bytes.size(), 17 * kPage) << "three pages of the schema and fourteen tables";
  unsigned flaws = 0;
  for (std::size_t bit = 0; bit < 8 * bytes.size() && flaws < 20; bit += stride()) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    Directory directory;
    write_file(directory.database(), flipped);
    const std::string flaw = flaw_after_flip(directory, before);
    if (flaw.empty()) continue;
    ++flaws;
    ADD_FAILURE() << "bit " << bit % 8 << " of byte " << bit / 8 % kPage << " of page "
                  << bit / 8 / kPage + 1 << ": " << flaw;
  }
}

/// What a killed ibsm leaves: the last commits are in the log.
TEST(StoreDamage, OneFlippedBitOfTheLogCostsOneRecordAtMost) {
  Directory original;
  auto opened = open_anyhow(original);
  const Contents before = make_small(*opened.store);
  const std::string bytes = read_file(original.database());
  const std::string log = read_file(original.database() + "-wal");
  ASSERT_GT(log.size(), 10 * kPage);
  unsigned flaws = 0;
  for (std::size_t bit = 0; bit < 8 * log.size() && flaws < 20; bit += 5 * stride()) {
    std::string flipped = log;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    Directory directory;
    write_file(directory.database(), bytes);
    write_file(directory.database() + "-wal", flipped);
    const std::string flaw = flaw_after_flip(directory, before);
    if (flaw.empty()) continue;
    ++flaws;
    ADD_FAILURE() << "bit " << bit % 8 << " of byte " << bit / 8 << " of the log: " << flaw;
  }
}

/// Pages of rows that were written over: the others are used.
TEST(StoreDamage, AfterAHoleInTheFileTheOtherPagesAreUsed) {
  Directory directory;
  {
    auto store = std::move(open_anyhow(directory).store);
    Batch batch;
    for (unsigned i = 1; i < 2000; ++i)
      batch.lids.push_back({Guid{i}, Lid{static_cast<std::uint16_t>(i)}, 0});
    ASSERT_TRUE(store->commit(batch));
  }
  {
    std::fstream file(directory.database(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(17 * kPage + 1000);  // inside a page of rows, past the roots of the tables
    file << std::string(3000, '\x5a');
  }
  auto opened = open_anyhow(directory);
  EXPECT_THAT(opened.lines, Contains(AllOf(says("is damaged"), says("ibsm.db.damaged-1"))));
  EXPECT_EQ(opened.found, Found::Part);
  EXPECT_TRUE(fs::exists(directory.database() + ".damaged-1"));
  EXPECT_GT(opened.contents.lids.size(), 1800U);
  EXPECT_LT(opened.contents.lids.size(), 1999U);
  EXPECT_THAT(opened.lines, Contains(says("more")));
  Batch batch;
  batch.lids = {{Guid{1}, Lid{1}, 0}};
  EXPECT_TRUE(opened.store->commit(batch));
}

TEST(StoreDamage, FromAFileThatWasCutTheRestIsUsed) {
  Directory original;
  const Contents before = make_small(*open_anyhow(original).store);
  const std::string bytes = read_file(original.database());
  for (std::size_t pages = 1; pages < 7; ++pages)
    for (const std::size_t more : {std::size_t{0}, std::size_t{1}, kPage - 1}) {
      Directory directory;
      write_file(directory.database(), bytes.substr(0, pages * kPage + more));
      const auto opened = open_anyhow(directory);
      EXPECT_TRUE(is_part(opened.contents, before));
      EXPECT_GE(records(opened.contents), 2 * (pages - 1)) << pages << " pages are left";
      EXPECT_THAT(opened.lines, Contains(says("is damaged")));
      EXPECT_EQ(opened.found, Found::Part);
    }
}

TEST(StoreDamage, TablesThatAreGoneOrOthersCostNoOtherRecord) {
  struct Case {
    const char* what;
    std::size_t lost;
  };
  for (const auto& [sql, lost] : {
           Case{"DROP TABLE service", 2},
           Case{"ALTER TABLE lid RENAME TO lids", 0},
           Case{"ALTER TABLE lid RENAME COLUMN lmc TO mask", 0},
           Case{"PRAGMA user_version=-1", 0},
           Case{"PRAGMA user_version=0", 0},
           Case{"PRAGMA user_version=3", 0},
           Case{"PRAGMA user_version=4", 0},
           Case{"PRAGMA user_version=5", 0},
           Case{"PRAGMA user_version=12", 0},
           Case{"PRAGMA application_id=0", 0},
           Case{"UPDATE mc_member SET join_state=4 WHERE join_state=8", 1},
       }) {
    SCOPED_TRACE(sql);
    Directory directory;
    const Contents before = make_small(*open_anyhow(directory).store);
    run_sql(directory.database(), sql);
    const auto opened = open_anyhow(directory);
    EXPECT_THAT(opened.lines, Contains(says("is damaged")));
    EXPECT_TRUE(is_part(opened.contents, before));
    EXPECT_EQ(records(opened.contents) + lost, records(before));
  }
}

TEST(StoreDamage, ABadRecordIsNamedByItsKey) {
  Directory directory;
  make_small(*open_anyhow(directory).store);
  run_sql(directory.database(), "UPDATE lid SET lid=7 WHERE port_guid=x'0000000000000002'");
  const auto opened = open_anyhow(directory);
  EXPECT_THAT(opened.lines, Contains(says("1 of its records do not fit their checksums")));
  EXPECT_THAT(opened.lines,
              Contains(says("lid port_guid=0000000000000002 does not fit its checksum")));
  EXPECT_THAT(opened.contents.lids, SizeIs(1));
}

TEST(StoreDamage, NeverOverwritesAnEarlierDamagedFile) {
  Directory directory;
  for (const char* text : {"first garbage, not a database", "second garbage, not a database"}) {
    write_file(directory.database(), text);
    EXPECT_THAT(open_anyhow(directory).lines, SizeIs(1)) << text;
  }
  EXPECT_EQ(read_file(directory.database() + ".damaged-1"), "first garbage, not a database");
  EXPECT_EQ(read_file(directory.database() + ".damaged-2"), "second garbage, not a database");
}

TEST(StoreDamage, AStoreThatIsGoneOrEmptyIsNoFirstStart) {
  Directory directory;
  auto opened = open_anyhow(directory);
  EXPECT_EQ(opened.found, Found::Nothing);
  EXPECT_THAT(opened.lines, IsEmpty());
  opened = {};
  EXPECT_EQ(open_anyhow(directory).found, Found::All);

  fs::remove(directory.database());
  opened = open_anyhow(directory);
  EXPECT_EQ(opened.found, Found::Part);
  EXPECT_THAT(opened.lines, ElementsAre(AllOf(says("ibsm.db is gone"),
                                              Field(&ib::LogEvent::level, ib::LogLevel::Error))));
  opened = {};
  write_file(directory.database(), "");
  EXPECT_THAT(open_anyhow(directory).lines, ElementsAre(says("ibsm.db is empty")));
  write_file(directory.database(), "S");
  EXPECT_THAT(open_anyhow(directory).lines,
              ElementsAre(AllOf(says("is damaged"), says("nothing in it can be read"))));
}

/// A death between the two renames that put the new file in the damaged one's place.
TEST(StoreDamage, ANewFileThatWasNotPutInPlaceYetIsUsed) {
  Directory directory;
  const Contents before = make_small(*open_anyhow(directory).store);
  fs::rename(directory.database(), directory.database() + ".new");
  const auto opened = open_anyhow(directory);
  EXPECT_EQ(opened.contents, before);
  EXPECT_FALSE(fs::exists(directory.database() + ".new"));
}

}  // namespace
}  // namespace sm::store
