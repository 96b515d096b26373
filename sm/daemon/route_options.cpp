// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "sm/daemon/route_options.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sm::daemon {
namespace {

using ib::route::OptionFile;

struct List {
  OptionFile which;
  PolicyFile kind;
};
/// Each by the key of the options file that names it.
constexpr List kLists[] = {
    {OptionFile::Roots, {"routing", "root_guid_file.last"}},
    {OptionFile::ComputeNodes, {"routing", "cn_guid_file.last"}},
    {OptionFile::IoNodes, {"routing", "io_guid_file.last"}},
    {OptionFile::Ids, {"routing", "ids_guid_file.last"}},
    {OptionFile::Ignored, {"routing", "port_prof_ignore_file.last"}},
    {OptionFile::HopWeights, {"routing", "hop_weights_file.last"}},
    {OptionFile::PortSearchOrder, {"routing", "port_search_ordering_file.last"}},
    {OptionFile::GuidRoutingOrder, {"routing", "guid_routing_order_file.last"}},
    {OptionFile::NoHosts, {"routing", "no_host_guid_file.last"}},
    {OptionFile::Torus, {"routing", "torus_config.last"}},
};

}  // namespace

ib::Result<ib::route::ReadOptions> read_route_options(const ib::route::OptionFiles& named,
                                                      const ib::route::Options& given,
                                                      PolicyFiles& files) {
  ib::route::ReadOptions out{given, {}};
  std::string mistakes;
  for (const auto& [which, path] : named) {
    const auto use = [&out, which = which](
                         const std::string& text,
                         const std::string& name) -> ib::Result<ib::route::ReadOptions> {
      ib::route::ReadOptions read{out.options, {}};
      auto mentions = ib::route::read_option_text(which, text, name, read.options);
      if (!mentions) return tl::unexpected<ib::Error>(std::move(mentions.error()));
      read.mentions.push_back(*std::move(mentions));
      return read;
    };
    const auto* const list = std::ranges::find(kLists, which, &List::which);
    auto read = list != std::end(kLists) ? files.read(list->kind, path, use)
                                         : ib::route::read_option_files(
                                               ib::route::OptionFiles{{which, path}}, out.options);
    if (read) {
      out.options = std::move(read->options);
      std::ranges::move(read->mentions, std::back_inserter(out.mentions));
    } else {
      mistakes += (mistakes.empty() ? "" : "\n") + read.error().message;
    }
  }
  if (!mistakes.empty()) return ib::fail(ib::ErrorKind::Usage, std::move(mistakes));
  return out;
}

}  // namespace sm::daemon
