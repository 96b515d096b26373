// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/store/etcd/curl_poster.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

namespace sm::store::etcd {
namespace {

/// More than any answer that we ask for.
constexpr std::size_t kAnswerMost = 64U << 20;

std::size_t take_bytes(char* bytes, std::size_t size, std::size_t count, void* into) {
  auto& body = *static_cast<std::string*>(into);
  if (body.size() + size * count > kAnswerMost) return 0;
  body.append(bytes, size * count);
  return size * count;
}

/// libcurl brings some twenty libraries along, which would double what every ibsm takes to start
/// and keeps in memory: it is loaded where it is needed.
struct Curl {
  decltype(&::curl_global_init) global_init{};
  decltype(&::curl_easy_init) easy_init{};
  decltype(&::curl_easy_cleanup) easy_cleanup{};
  decltype(&::curl_easy_reset) easy_reset{};
  decltype(&::curl_easy_setopt) setopt{};
  decltype(&::curl_easy_getinfo) getinfo{};
  decltype(&::curl_easy_perform) perform{};
  decltype(&::curl_easy_strerror) strerror{};
  decltype(&::curl_slist_append) slist_append{};
  decltype(&::curl_slist_free_all) slist_free_all{};

  /// For the life of the process. An error says what is missing.
  static const ib::Result<Curl>& loaded() {
    static const ib::Result<Curl> curl = load();
    return curl;
  }

 private:
  static ib::Result<Curl> load() {
    void* library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return missing();
    Curl curl;
    bool has_all = true;
    const auto find = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      has_all = has_all && function != nullptr;
    };
    find(curl.global_init, "curl_global_init");
    find(curl.easy_init, "curl_easy_init");
    find(curl.easy_cleanup, "curl_easy_cleanup");
    find(curl.easy_reset, "curl_easy_reset");
    find(curl.setopt, "curl_easy_setopt");
    find(curl.getinfo, "curl_easy_getinfo");
    find(curl.perform, "curl_easy_perform");
    find(curl.strerror, "curl_easy_strerror");
    find(curl.slist_append, "curl_slist_append");
    find(curl.slist_free_all, "curl_slist_free_all");
    if (!has_all || curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return missing();
    return curl;
  }
  static tl::unexpected<ib::Error> missing() {
    const char* why = dlerror();
    return ib::fail(ib::ErrorKind::Unavailable,
                    fmt::format("a store on etcd needs libcurl (Debian: libcurl4): {}",
                                why != nullptr ? why : "libcurl.so.4 is another version"));
  }
};

class CurlPoster final : public Poster {
 public:
  CurlPoster(const Curl& curl, Tls tls) : c_(curl), tls_(std::move(tls)) { curl_ = c_.easy_init(); }
  ~CurlPoster() override {
    if (curl_ != nullptr) c_.easy_cleanup(curl_);
  }
  CurlPoster(const CurlPoster&) = delete;
  CurlPoster& operator=(const CurlPoster&) = delete;

  ib::Result<HttpAnswer> post(const HttpRequest& request) override {
    if (curl_ == nullptr) return ib::fail(ib::ErrorKind::Io, "libcurl cannot be used");
    c_.easy_reset(curl_);  // connections are kept
    HttpAnswer answer;
    char words[CURL_ERROR_SIZE] = "";
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(request.within).count();
    c_.setopt(curl_, CURLOPT_URL, request.url.c_str());
    c_.setopt(curl_, CURLOPT_PROTOCOLS_STR, "http,https");
    c_.setopt(curl_, CURLOPT_PROXY, "");  // whatever the environment says
    c_.setopt(curl_, CURLOPT_POSTFIELDS, request.body.c_str());
    c_.setopt(curl_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    c_.setopt(curl_, CURLOPT_TIMEOUT_MS, static_cast<long>(ms));
    c_.setopt(curl_, CURLOPT_NOSIGNAL, 1L);  // there are other threads
    c_.setopt(curl_, CURLOPT_ERRORBUFFER, words);
    c_.setopt(curl_, CURLOPT_WRITEFUNCTION, take_bytes);
    c_.setopt(curl_, CURLOPT_WRITEDATA, &answer.body);
    if (!tls_.ca.empty()) c_.setopt(curl_, CURLOPT_CAINFO, tls_.ca.c_str());
    if (!tls_.certificate.empty()) {
      c_.setopt(curl_, CURLOPT_SSLCERT, tls_.certificate.c_str());
      c_.setopt(curl_, CURLOPT_SSLKEY, tls_.key.c_str());
    }
    // Without "Expect: 100-continue", which would cost a large request a round trip.
    curl_slist* headers = c_.slist_append(nullptr, "Expect:");
    headers = c_.slist_append(headers, "Content-Type: application/json");
    if (!request.token.empty())
      headers = c_.slist_append(headers, ("Authorization: " + request.token).c_str());
    c_.setopt(curl_, CURLOPT_HTTPHEADER, headers);
    const CURLcode code = c_.perform(curl_);
    c_.slist_free_all(headers);
    if (code != CURLE_OK)
      return ib::fail(ib::ErrorKind::Unavailable, words[0] != '\0' ? words : c_.strerror(code));
    c_.getinfo(curl_, CURLINFO_RESPONSE_CODE, &answer.status);
    return answer;
  }

 private:
  const Curl& c_;
  Tls tls_;
  CURL* curl_{nullptr};
};

}  // namespace

ib::Result<std::unique_ptr<Poster>> make_curl_poster(Tls tls) {
  const auto& curl = Curl::loaded();
  if (!curl) return tl::unexpected<ib::Error>(curl.error());
  return std::make_unique<CurlPoster>(*curl, std::move(tls));
}

}  // namespace sm::store::etcd
