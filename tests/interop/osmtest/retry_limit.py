# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whether osmtest failed by its own retry limit: it sends a query four times, and where MADs are lost
all four may be. Nothing else that it complains of is forgiven."""
import re

# Of the transport: the last attempt had no answer either.
LOST = re.compile(r"-> log_send_error: ERR 5410: Send completed with error \(IB_TIMEOUT\)")
QUERY = re.compile(r"-> osmtest_query_res_cb: ERR 0003: Error on query \(IB_TIMEOUT\)")
# What osmtest says when such a query was one that it needed; these do not repeat the status.
NEEDED = re.compile(r"-> osmt_run_\w+_flow: ERR \w+:? "
                    r"(Fail to find |Found number of records |GetTable of all records has failed)")
END = re.compile(r"-> osmtest_run: ERR ")


def gave_up(log):
    """The failure this log ends with is that of a query whose attempts were all lost: nothing stands
    between the lost query and the end of the run but who passed its failure on. Queries that were
    lost earlier, where osmtest took silence for an answer, excuse nothing."""
    lines = [line for line in log.splitlines() if re.search(r"-> \w+: (ERR |IS EXPECTED ERROR)", line)]
    lost = [at for at, line in enumerate(lines) if LOST.search(line)]
    if not lost or not END.search(lines[-1]):
        return False
    told, *passed_on = lines[lost[-1] + 1:-1]
    return bool(QUERY.search(told)) and bool(passed_on) and all(
        "IB_TIMEOUT" in line or NEEDED.search(line) for line in passed_on)
