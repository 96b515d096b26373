#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whether every test that documents name is there: named_tests.py BUILD DOCUMENT... [--each-row DOCUMENT...].

Where a document says "Of N lines M do not work", that is counted. With --each-row every row of a table whose last column is `test` has to name one.

A name stands in backquotes: a suite (`Partitions.*`), a test (`AskForPort.Twice`), or the beginning of one
with an ellipsis behind it."""
import fnmatch
import re
import subprocess
import sys


NAME = re.compile(r"`((?:[A-Z]\w*[.*]|interop\.)[^` ]*)`")


def rows_without_a_test(text):
    column = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            column = None
            continue
        last = re.split(r"(?<!\\)\|", line)[-2].strip()
        if column is None:
            column = last
        elif column == "test" and set(last) != {"-"} and not NAME.search(last):
            yield number


def wrong_count(text):
    """What a document says of its own lines, if it is not so."""
    said = re.search(r"^Of (\d+) lines (\d+) do not work", text, re.M)
    if not said:
        return None
    states = [line.split("|")[3].strip() for line in text.splitlines()
              if re.match(r"\|[^-]", line) and not line.startswith("| line ")]
    idle = [state for state in states if state.startswith(("not there", "partly"))]
    counted = (len(states), len(idle))
    return None if tuple(map(int, said.groups())) == counted else "of {} lines {} do not work".format(*counted)


def main():
    build, documents = sys.argv[1], sys.argv[2:]
    each_row = documents[documents.index("--each-row") + 1:] if "--each-row" in documents else []
    documents = [document for document in documents if document != "--each-row"]
    listed = subprocess.run(["ctest", "--test-dir", build, "-N"], capture_output=True, text=True, check=True).stdout
    there = re.findall(r"^ *Test +#\d+: (\S+)", listed, re.M)
    assert len(there) > 1000, "ctest lists no tests"
    wrong = 0
    for document in documents:
        with open(document, encoding="utf-8") as file:
            text = file.read()
        named = set(NAME.findall(text))
        assert named, f"{document} names no tests"
        # A suite may be one with parameters, which ctest lists with what it was given.
        missing = [name for name in sorted(named)
                   if not any(fnmatch.fnmatch(test, pattern) for test in there
                              for pattern in (name.replace("…", "*"), name + ".*", "*/" + name.replace(".", "*")))]
        for name in missing:
            print(f"{document}: there is no test {name}")
        bare = list(rows_without_a_test(text)) if document in each_row else []
        for number in bare:
            print(f"{document}:{number}: the row names no test")
        print(f"named_tests: {document}: {len(named)} names, {len(missing)} wrong, {len(bare)} rows without one")
        if count := wrong_count(text):
            print(f"{document}: {count}, it says otherwise")
            wrong += 1
        wrong += len(missing) + len(bare)
    return bool(wrong)


sys.exit(main())
