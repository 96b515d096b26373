# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is forgiven of osmtest under loss, by ends of its real logs: three runs whose last query was lost
four times (its failure is passed on with its status, or without), a Field mismatch, a quota."""
import pathlib
import unittest

from retry_limit import gave_up

LOGS = pathlib.Path(__file__).parent / "logs"


def log(name):
    return (LOGS / f"{name}.log").read_text(encoding="ascii")


class GaveUp(unittest.TestCase):
    def test_a_query_that_was_lost_four_times_is_forgiven(self):
        for name in ("table_lost", "service_lost", "multicast_lost"):
            self.assertTrue(gave_up(log(name)), name)

    def test_data_that_is_wrong_is_not(self):
        self.assertIn("Transaction timeout", log("port_mismatch"), "it always says so")
        self.assertIn("Field mismatch", log("port_mismatch"))
        self.assertFalse(gave_up(log("port_mismatch")))

    def test_a_refusal_is_not(self):
        self.assertIn("IB_SA_MAD_STATUS_NO_RESOURCES", log("quota"))
        self.assertFalse(gave_up(log("quota")))

    def test_a_query_that_was_lost_before_excuses_nothing(self):
        lost = log("table_lost")
        self.assertIn("osmtest_run: ERR", lost)
        before = "".join(line for line in lost.splitlines(keepends=True) if "osmtest_run" not in line)
        for failure in ("port_mismatch", "quota"):
            self.assertFalse(gave_up(before + log(failure)), failure)
        last = log("port_mismatch").splitlines()[-6:]
        self.assertIn("Field mismatch", last[0])
        self.assertFalse(gave_up(before + "\n".join(last)), "nothing else between")

    def test_silence_that_was_expected_is_no_failure(self):
        lost = log("service_lost").splitlines()
        end = next(at for at, line in enumerate(lost) if "Fail to find" in line)
        expected = [line.replace("ERR 4A12: ib_query failed (IB_TIMEOUT)", "IS EXPECTED ERROR ^^^^")
                    for line in lost[:end]]
        self.assertFalse(gave_up("\n".join(lost[:end] + expected[-1:] + lost[end:])))

    def test_a_log_without_an_end_is_not(self):
        self.assertFalse(gave_up(""))
        self.assertFalse(gave_up("OSMTEST: TEST \"Multicast\" FAIL\n"))
        crashed = "".join(line for line in log("table_lost").splitlines(keepends=True)
                          if "osmtest_run" not in line)
        self.assertFalse(gave_up(crashed))


if __name__ == "__main__":
    unittest.main(verbosity=2)
