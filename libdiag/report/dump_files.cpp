// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/report/dump_files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "libdiag/fabric/topology_text.h"
#include "libdiag/tables/lid_matrix.h"
#include "libdiag/tables/sl2vl_dump.h"
#include "libdiag/tables/subnet_lst.h"

namespace ib::report {
namespace {

using tables::SwitchTables;
using tables::TextSink;

bool always(const DumpContent&) { return true; }
bool has_lfts(const DumpContent& content) { return content.lfts != nullptr; }
bool has_sl_to_vl(const DumpContent& content) { return content.sl_to_vl != nullptr; }
bool has_path_sls(const DumpContent& content) { return content.path_sls != nullptr; }

/// Switch by switch: all of a large fabric would be hundreds of megabytes.
template <class Append>
void by_switch(const TextSink& write, const DumpContent& content, Append append) {
  std::string text;
  for (const SwitchTables& one : content.switches) {
    text.clear();
    append(text, one);
    write(text);
  }
}

void write_topology_text(const TextSink& write, const DumpContent& content) {
  std::ostringstream out;
  fabric::write_topology(out, *content.fabric);
  write(out.str());
}
void write_dump_fts(const TextSink& write, const DumpContent& content) {
  const tables::DestinationNames names(*content.fabric);
  by_switch(write, content, [&](std::string& text, const SwitchTables& one) {
    append_dump_fts_lft(text, one, names);
  });
}
void write_subnet(const TextSink& write, const DumpContent& content) {
  std::string text;
  tables::append_subnet_lst(text, *content.fabric, content.sm_lid);
  write(text);
}
void write_lfts(const TextSink& write, const DumpContent& content) {
  const tables::DestinationNames names(*content.fabric);
  by_switch(write, content, [&](std::string& text, const SwitchTables& one) {
    append_opensm_lfts(text, one, names);
  });
}
void write_fdbs(const TextSink& write, const DumpContent& content) {
  tables::write_opensm_fdbs(write, *content.graph, *content.lfts);
}
void write_mcfdbs(const TextSink& write, const DumpContent& content) {
  by_switch(write, content,
            [](std::string& text, const SwitchTables& one) { append_opensm_mcfdbs(text, one); });
}
void write_hops(const TextSink& write, const DumpContent& content) {
  tables::write_lid_matrix(write, *content.fabric, *content.graph);
}
void write_sl2vl(const TextSink& write, const DumpContent& content) {
  std::string text;
  tables::append_sl2vl(text, *content.fabric, *content.graph, *content.sl_to_vl, content.host_rows);
  write(text);
}
void write_path_sls(const TextSink& write, const DumpContent& content) {
  std::string text;
  tables::append_path_sls(text, *content.fabric, *content.graph, *content.path_sls);
  write(text);
}

Error cannot(const char* what, const std::string& path) {
  return {ErrorKind::Io,
          std::string("cannot ") + what + ' ' + path + ": " +
              (errno != 0 ? std::strerror(errno) : "input/output error"),
          0};
}

}  // namespace

namespace dump_files {
const DumpFile kTopology{"fabric.topo", always, write_topology_text};
const DumpFile kDumpFts{"dump_fts.txt", always, write_dump_fts};
const DumpFile kSubnet{"opensm-subnet.lst", always, write_subnet};
const DumpFile kLfts{"opensm-lfts.dump", always, write_lfts};
const DumpFile kFdbs{"opensm.fdbs", has_lfts, write_fdbs};
const DumpFile kMcFdbs{"opensm.mcfdbs", always, write_mcfdbs};
const DumpFile kLidMatrix{"opensm-lid-matrix.dump", always, write_hops};
const DumpFile kSl2Vl{"opensm-sl2vl.dump", has_sl_to_vl, write_sl2vl};
const DumpFile kPathSls{"path-sls.dump", has_path_sls, write_path_sls};
}  // namespace dump_files

Result<void> write_dump_file(const std::string& path,
                             const std::function<void(const TextSink&)>& write) {
  // A device or a pipe stays what it is.
  std::error_code unknown;
  const bool replaced =
      !std::filesystem::exists(path, unknown) || std::filesystem::is_regular_file(path, unknown);
  const std::string part = replaced ? path + ".part" : path;
  errno = 0;
  {
    std::ofstream file(part, std::ios::binary);
    if (file)
      write([&](std::string_view piece) {
        file.write(piece.data(), static_cast<std::streamsize>(piece.size()));
      });
    if (!file.flush()) return tl::unexpected<Error>(cannot("write", path));
  }
  if (!replaced) return {};
  std::error_code error;
  std::filesystem::rename(part, path, error);
  errno = error.value();
  if (error) return tl::unexpected<Error>(cannot("replace", path));
  return {};
}

Result<std::vector<std::string>> write_dump_files(const std::string& directory,
                                                  std::span<const DumpFile* const> files,
                                                  const DumpContent& content) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return fail(ErrorKind::Io, "cannot make the folder " + directory + ": " + error.message());
  std::vector<std::string> written;
  for (const DumpFile* file : files) {
    if (!file->is_there(content)) continue;
    std::string path = (std::filesystem::path(directory) / file->name).string();
    if (auto done =
            write_dump_file(path, [&](const TextSink& write) { file->write(write, content); });
        !done)
      return tl::unexpected<Error>(std::move(done.error()));
    written.push_back(std::move(path));
  }
  return written;
}

}  // namespace ib::report
