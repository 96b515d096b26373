// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// ibtopo: discovers the topology of a fabric and prints it as text, JSON, graph or picture.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "libdiag/cli/exit_status.h"
#include "libdiag/fabric/export/draw.h"
#include "libdiag/fabric/topology_text.h"
#include "libdiag/report/topology_json.h"
#include "tools/common/refusal.h"
#include "tools/ibtopo/source.h"

namespace ib::tools::topo {
namespace {

constexpr const char* kProgram = "ibtopo";

/// Whole or not at all: a regular file is written beside and renamed.
Result<void> write_file(const std::string& path, const std::string& text) {
  struct stat status {};
  const bool special = ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  const std::string part = special ? path : path + ".part";
  std::FILE* file = std::fopen(part.c_str(), "wb");
  if (file == nullptr) return fail(ErrorKind::Io, path + ": " + std::strerror(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed || (!special && std::rename(part.c_str(), path.c_str()) != 0)) {
    const std::string why = std::strerror(errno);
    if (!special) std::remove(part.c_str());
    return fail(ErrorKind::Io, path + ": " + why);
  }
  return {};
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

std::string now_as_text() {
  const std::time_t now = std::time(nullptr);
  char text[64];
  std::tm local{};
  std::strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", localtime_r(&now, &local));
  return text;
}

/// Whether the link at a port runs below what both its ends support; empty: unknown.
std::function<bool(fabric::PortRef)> degraded_of(const Source& source) {
  if (!source.degraded) return {};
  return [&source](fabric::PortRef port) {
    return std::binary_search(source.degraded->begin(), source.degraded->end(), port);
  };
}

fabric::Picture picture_of(const Source& source, const Options& options,
                           const fabric::NodeNames* names) {
  fabric::PictureOptions picture;
  picture.title = options.title.empty() ? source.title : options.title;
  picture.hosts = options.hosts;
  picture.fold = options.fold == "always"  ? fabric::PictureOptions::Fold::Always
                 : options.fold == "never" ? fabric::PictureOptions::Fold::Never
                                           : fabric::PictureOptions::Fold::Auto;
  picture.names = names;
  picture.degraded = degraded_of(source);
  picture.built_in = source.built_in;
  return fabric::make_picture(source.fabric, picture);
}

Result<void> put_out(const Source& source, const Options& options, const fabric::NodeNames* names) {
  if (options.svg) {
    const fabric::Picture picture = picture_of(source, options, names);
    auto svg = fabric::svg_text(picture);
    if (!svg) return tl::unexpected<Error>(std::move(svg.error()));
    if (*options.svg == "-") {
      print(*svg);
    } else {
      if (auto written = write_file(*options.svg, *svg); !written) return written;
      if (!options.common.json && !options.dot) print(*options.svg + ": " + picture.summary + '\n');
    }
  }
  if (options.common.json) {
    report::Envelope envelope{kSchema, kProgram, IBKIT_VERSION, source.complete, source.errors};
    envelope.errors.insert(envelope.errors.end(), source.warnings.begin(), source.warnings.end());
    print(report::topology_json(source.fabric, envelope, names, degraded_of(source),
                                source.built_in));
  } else if (options.dot) {
    auto dot = fabric::dot_text(picture_of(source, options, names));
    if (!dot) return tl::unexpected<Error>(std::move(dot.error()));
    print(*dot);
  } else if (!options.svg) {
    fabric::TopologyTextOptions text;
    text.full_info = options.full;
    text.generated_on = now_as_text();
    text.names = names;
    print(fabric::topology_text(source.fabric, text));
  }
  return {};
}

int run(int argc, const char* const* argv) {
  Options options;
  cli::CommandLine line = command_line(options);
  if (const auto status = line.parse(argc, argv)) return *status;
  const Refusal refuse{kProgram, kSchema, IBKIT_VERSION, options.common.json};
  if (options.common.json && options.dot)
    return refuse({ErrorKind::Usage, "expected one of --json and --dot", 0});
  if (options.svg == "-" && (options.common.json || options.dot))
    return refuse(
        {ErrorKind::Usage, "expected a file for --svg beside --json or --dot, got '-'", 0});

  if (options.load && options.hops_max < 63)
    return refuse({ErrorKind::Usage, "--max-hops applies to discovery only, not to --load", 0});

  if (options.fec && (options.load || options.discover != "own"))
    return refuse({ErrorKind::Usage,
                   "--fec goes with ibtopo's own discovery, not with --load or --discover "
                   "libibnetdisc",
                   0});

  const auto names = fabric::NodeNames::read_file_or_default(options.names.value_or(""));
  if (!names) return refuse(names.error());
  const auto source = load_source(options);
  if (!source) return refuse(source.error());
  const auto done = put_out(*source, options, names->size() != 0 ? &*names : nullptr);
  if (!done) return refuse(done.error());

  for (const std::string& warning : source->warnings)
    cli::complain(kProgram, warning, cli::kExitGood);
  for (const std::string& error : source->errors)
    cli::complain(kProgram, error, cli::kExitIncomplete);
  if (options.common.verbose > 0 && !source->effort.empty()) {
    cli::complain(kProgram, source->effort, cli::kExitGood);
  }
  return source->complete ? cli::kExitGood : cli::kExitIncomplete;
}

}  // namespace
}  // namespace ib::tools::topo

int main(int argc, char** argv) {
  return ib::cli::run_main("ibtopo", [&] { return ib::tools::topo::run(argc, argv); });
}
