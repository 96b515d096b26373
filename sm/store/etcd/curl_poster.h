// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Poster by libcurl, which is loaded when the first is made: HTTP and HTTPS, one connection that is
// kept between requests.
#pragma once

#include <memory>
#include <string>

#include "sm/store/etcd/client.h"

namespace sm::store::etcd {

/// Files in PEM; empty: the system's authorities, and no certificate of ours.
struct Tls {
  std::string ca, certificate, key;
};

/// Unavailable: there is no libcurl.
ib::Result<std::unique_ptr<Poster>> make_curl_poster(Tls tls);

}  // namespace sm::store::etcd
