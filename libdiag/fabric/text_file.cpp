// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "libdiag/fabric/text_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace ib::fabric {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (!file) return fail(ErrorKind::Usage, path + ": " + std::strerror(errno));
  std::string text;
  std::size_t size = 0;
  do {
    text.resize(size + (std::size_t{1} << 20));
    size += std::fread(text.data() + size, 1, text.size() - size, file.get());
  } while (size == text.size());
  if (std::ferror(file.get()) != 0) {
    return fail(ErrorKind::Usage, path + ": " + std::strerror(errno));
  }
  text.resize(size);
  return text;
}

}  // namespace ib::fabric
