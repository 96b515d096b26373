// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/etcd/open.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "sm/store/directory_lock.h"
#include "sm/store/etcd/curl_poster.h"
#include "sm/store/etcd/etcd_board.h"
#include "sm/store/etcd/etcd_store.h"
#include "sm/store/etcd/policy_shelf.h"

namespace sm::store {
namespace {

/// A word that nobody else has: host, process, and a number by chance.
std::string holder() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  std::uint64_t chance = 0;
  (void)getrandom(&chance, sizeof chance, 0);
  std::string word = fmt::format("{}:{}:{:016x}", host, getpid(), chance);
  std::ranges::replace_if(
      word, [](char c) { return c <= ' ' || c > '~'; }, '_');
  return word;
}

ib::Result<std::string> read_password(const std::string& path) {
  struct stat about {};
  std::ifstream file(path);
  std::string password;
  if (stat(path.c_str(), &about) != 0 || !std::getline(file, password))
    return ib::fail(ib::ErrorKind::Io,
                    fmt::format("{} is to hold the password for etcd, and cannot be read", path));
  if ((about.st_mode & 077) != 0)
    return ib::fail(
        ib::ErrorKind::Io,
        fmt::format("{} holds the password for etcd, and others may read or change it; chmod 600",
                    path));
  return password;
}

ib::Result<std::unique_ptr<etcd::Cluster>> cluster_of(const EtcdOptions& options) {
  etcd::ClientOptions client;
  client.endpoints = options.endpoints;
  client.user = options.user;
  if (!options.user.empty()) {
    auto password = read_password(options.password_file);
    if (!password) return tl::unexpected<ib::Error>(std::move(password.error()));
    client.password = *std::move(password);
  }
  auto poster = etcd::make_curl_poster({options.ca, options.certificate, options.key});
  if (!poster) return tl::unexpected<ib::Error>(std::move(poster.error()));
  return std::make_unique<etcd::Client>(std::move(client), *std::move(poster));
}

ib::Result<Opened> open(const EtcdOptions& options, etcd::EtcdStore::Local local) {
  auto cluster = cluster_of(options);
  if (!cluster) return tl::unexpected<ib::Error>(std::move(cluster.error()));
  etcd::BookOptions book;
  book.prefix = options.prefix;
  book.fabric = options.fabric;
  book.holder = holder();
  return etcd::EtcdStore::open(std::move(book), *std::move(cluster), std::move(local));
}

}  // namespace

ib::Result<Opened> open_etcd(const EtcdOptions& options) { return open(options, {}); }

ib::Result<Opened> open_etcd(const EtcdOptions& options, const std::string& directory) {
  auto lock = lock_directory(directory);
  if (!lock && lock.error().kind != ib::ErrorKind::Io)
    return tl::unexpected<ib::Error>(std::move(lock.error()));
  etcd::EtcdStore::Local local;
  if (lock) local = {*lock, directory + "/etcd-journal"};
  auto opened = open(options, std::move(local));
  if (opened && !lock)
    opened->lines.push_back(
        {ib::LogLevel::Error, "store", lock.error().message + ": no backups are written there"});
  return opened;
}

ib::Result<std::unique_ptr<Board>> open_etcd_board(const EtcdOptions& options,
                                                   const std::string& who) {
  auto cluster = cluster_of(options);
  if (!cluster) return tl::unexpected<ib::Error>(std::move(cluster.error()));
  return std::make_unique<etcd::EtcdBoard>(options.prefix, who, *std::move(cluster));
}

ib::Result<std::unique_ptr<PolicyCopies>> open_etcd_policy(const EtcdOptions& options) {
  auto cluster = cluster_of(options);
  if (!cluster) return tl::unexpected<ib::Error>(std::move(cluster.error()));
  return std::make_unique<etcd::PolicyShelf>(options.prefix, options.fabric, *std::move(cluster));
}

}  // namespace sm::store
