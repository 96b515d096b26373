// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "tests/unit/tables/judge.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "libdiag/fabric/topology_text.h"
#include "libdiag/tables/dump.h"

namespace ib::judge {
namespace {

std::filesystem::path fabrics_dir() {
  const char* dir = std::getenv("IBKIT_FABRICS");
  return dir != nullptr ? dir : std::string(IBKIT_SOURCE_DIR "/../shared/fabrics");
}

}  // namespace

std::vector<std::filesystem::path> real_fabrics() {
  std::vector<std::filesystem::path> result;
  if (std::filesystem::is_directory(fabrics_dir()))
    for (const auto& entry : std::filesystem::directory_iterator(fabrics_dir()))
      if (entry.path().extension() == ".topo") result.push_back(entry.path());
  std::sort(result.begin(), result.end());
  return result;
}

std::optional<Figures> lftcheck(const fabric::Fabric& fabric, const fabric::CompactGraph& graph,
                                const tables::LinearTables& tables) {
  const auto script = fabrics_dir() / "../bench/lftcheck.py";
  if (!std::filesystem::exists(script)) return std::nullopt;
  const Scratch scratch;
  std::ostringstream topology;
  fabric::write_topology(topology, fabric);
  write_file(scratch / "topology", topology.str());
  std::string dump;
  const tables::DestinationNames names(fabric);
  for (const auto& one : tables::switch_tables(fabric, graph, tables))
    tables::append_dump_fts_lft(dump, one, names);
  write_file(scratch / "lfts", dump);
  const std::string text =
      output_of("/usr/bin/python3 '" + script.string() + "' '" + (scratch / "topology").string() +
                "' '" + (scratch / "lfts").string() + "' --json");
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) throw std::runtime_error("lftcheck.py printed: " + text);
  return Figures{json["pairs"],
                 json["unreachable"],
                 json["loops"],
                 json["extra_hops_total"],
                 json["credit_loop_channels"],
                 json["load_max"],
                 json["load_mean"]};
}

Scratch::Scratch() {
  std::string pattern = (std::filesystem::temp_directory_path() / "ibkit-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  dir_ = pattern;
}
Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(dir_, ignored);
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string output_of(const std::string& command) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen((command + " 2>&1").c_str(), "r"),
                                                       &pclose);
  if (!pipe) throw std::runtime_error("cannot run " + command);
  std::string text;
  std::array<char, 4096> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe.get()))
    text.append(buffer.data(), n);
  return text;
}

}  // namespace ib::judge
