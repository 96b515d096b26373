#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whether every test that a document names is there: named_tests.py BUILD DOCUMENT.

A name stands in backquotes: a suite (`Partitions.*`), a test (`AskForPort.Twice`), or the beginning of one
with an ellipsis behind it."""
import fnmatch
import re
import subprocess
import sys


def main():
    build, document = sys.argv[1:3]
    listed = subprocess.run(["ctest", "--test-dir", build, "-N"], capture_output=True, text=True, check=True).stdout
    there = re.findall(r"^ *Test +#\d+: (\S+)", listed, re.M)
    assert len(there) > 1000, "ctest lists no tests"
    with open(document, encoding="utf-8") as file:
        named = set(re.findall(r"`((?:[A-Z]\w*[.*]|interop\.)[^` ]*)`", file.read()))
    assert named, f"{document} names no tests"
    # A suite may be one with parameters, which ctest lists with what it was given.
    missing = [name for name in sorted(named)
               if not any(fnmatch.fnmatch(test, pattern) for test in there
                          for pattern in (name.replace("…", "*"), name + ".*", "*/" + name.replace(".", "*")))]
    for name in missing:
        print(f"{document}: there is no test {name}")
    print(f"named_tests: {len(named)} names, {len(missing)} wrong")
    return bool(missing)


sys.exit(main())
