#!/usr/bin/env python3
"""Checks scripts/run-tests on programs that speak GoogleTest's protocol and break it (fake_gtest.py).

    run_tests_test.py SCRIPTS_FOLDER
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

RUN_TESTS = pathlib.Path(sys.argv.pop()).resolve() / "run-tests"
FAKE = pathlib.Path(__file__).resolve().parent / "fake_gtest.py"

Run = collections.namedtuple("Run", "code output last outcomes starts")


class RunTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        self.tests = []

    def add(self, name, *command, **properties):
        words = " ".join(f"[==[{word}]==]" for word in command)
        self.tests.append(f"add_test({name} {words})\n")
        for key, value in properties.items():
            self.tests.append(f"set_tests_properties({name} PROPERTIES {key} [==[{value}]==])\n")

    def add_fakes(self, *names, **properties):
        for name in names:
            self.add(name, FAKE, name, LABELS="gtest", ENVIRONMENT=f"STARTS={self.build}/starts", **properties)

    def run_tests(self, *options):
        (self.build / "CTestTestfile.cmake").write_text("".join(self.tests))
        starts = self.build / "starts"
        starts.unlink(missing_ok=True)
        report = self.build / "report.xml"
        report.unlink(missing_ok=True)
        ran = subprocess.run([RUN_TESTS, self.build, "--junit", report, *options],
                             capture_output=True, text=True, timeout=100)
        outcomes = {}
        if report.exists():
            for case in xml.parse(report).getroot():
                outcomes[case.get("name")] = case[0].tag if len(case) else "passed"
        lines = ran.stdout.splitlines()
        return Run(ran.returncode, ran.stdout + ran.stderr, lines[-1] if lines else "", outcomes,
                   starts.read_text().split() if starts.exists() else [])

    def test_cases_are_tests_and_share_a_process(self):
        self.add_fakes("fine")
        ran = self.run_tests()
        self.assertEqual(ran.code, 0, ran.output)
        self.assertEqual(ran.last, "3 passed, 0 failed, 1 skipped")
        self.assertEqual(ran.outcomes, {"Fake.passes": "passed", "Fake.skips": "skipped", "Fake.talks": "passed",
                                        "Fake.passes_too": "passed"})
        self.assertEqual(ran.starts, ["fine"])
        self.assertIn("4 tests in 1 processes", ran.output)
        self.assertNotIn("no camera", ran.output)

    def test_options_select_cases_by_name_and_label(self):
        self.add_fakes("fine")
        self.add("other", "true", LABELS="else")
        self.assertEqual(set(self.run_tests("-R", "passes").outcomes), {"Fake.passes", "Fake.passes_too"})
        self.assertEqual(set(self.run_tests("-E", "^Fake.passes|talks").outcomes), {"Fake.skips", "other"})
        self.assertEqual(set(self.run_tests("-L", "else").outcomes), {"other"})
        listed = self.run_tests("-N", "-R", "passes_too|other")
        self.assertEqual(listed.output, "Fake.passes_too\nother\n2 tests\n")
        self.assertEqual(listed.starts, [])

    def test_nothing_selected_is_an_error(self):
        self.add_fakes("fine")
        ran = self.run_tests("-R", "absent")
        self.assertEqual((ran.code, ran.output), (2, "run-tests: no test was selected\n"))

    def test_a_case_that_ends_its_process_fails_alone(self):
        self.add_fakes("broken")
        ran = self.run_tests("-j", "1", "--timeout", "6")
        self.assertEqual(ran.code, 1)
        self.assertEqual(ran.outcomes, {"Fake.passes": "passed", "Fake.fails": "failure", "Fake.crashes": "failure",
                                        "Fake.exits": "failure", "Fake.hangs": "failure", "Fake.passes_last": "passed"})
        self.assertEqual(ran.last, "2 passed, 4 failed, 0 skipped")
        self.assertEqual(len(ran.starts), 4, "once more for each case that ended its process")
        child = pathlib.Path("/proc", (self.build / "starts.child").read_text(), "status")
        self.assertTrue(not child.exists() or "State:\tZ" in child.read_text(), "its child is still alive")
        for text in ("expected 1, got 2", "before the crash\nthe process ended in this case: signal SIGSEGV",
                     "in this case: exit code 0", "in this case: more than 6 s", "\n  Fake.hangs (broken)\n"):
            self.assertIn(text, ran.output)

    def test_an_error_at_exit_is_a_failure(self):
        self.add_fakes("leaking")
        ran = self.run_tests()
        self.assertEqual(ran.code, 1)
        self.assertEqual(ran.outcomes, {"Fake.passes": "passed", "leaking at exit": "failure"})
        self.assertIn("17 bytes leaked\nexit code 23", ran.output)

    def test_an_end_between_cases_is_a_failure_and_the_others_run(self):
        self.add_fakes("unsure")
        ran = self.run_tests()
        self.assertEqual(ran.outcomes, {"Fake.passes": "passed", "Fake.breaks_between": "passed",
                                        "unsure between cases": "failure", "Fake.passes_after": "passed"})
        self.assertIn("the suite's teardown crashed\nsignal SIGABRT", ran.output)

    def test_a_case_that_never_runs_fails(self):
        self.add_fakes("forgetful")
        ran = self.run_tests()
        self.assertEqual(ran.outcomes, {"Fake.passes": "passed", "Fake.is_forgotten": "failure"})
        alone = self.run_tests("-R", "forgotten")
        self.assertEqual((alone.code, alone.outcomes), (1, {"Fake.is_forgotten": "failure"}))

    def test_a_program_without_cases_fails(self):
        self.add_fakes("empty")
        ran = self.run_tests()
        self.assertEqual((ran.code, ran.outcomes), (1, {"empty": "failure"}))
        self.assertIn("the program does not list any cases", ran.output)

    def test_a_long_program_is_split(self):
        self.add_fakes("fine")
        (self.build / "test-times.json").write_text(json.dumps(
            {"fine": {"Fake.passes": 30, "Fake.skips": 30, "Fake.talks": 30, "Fake.passes_too": 30}}))
        self.assertEqual(self.run_tests("-j", "2").starts, ["fine"] * 4)
        times = json.loads((self.build / "test-times.json").read_text())["fine"]
        self.assertLess(times["Fake.passes"], 30, "the times are those of the last run")

    def test_a_cost_is_the_time_until_it_is_known(self):
        self.add_fakes("fine", COST=120)
        self.assertEqual(self.run_tests("-j", "2").starts, ["fine"] * 4)

    def test_other_programs_are_one_test_each(self):
        self.add("good", "true")
        self.add("bad", "sh", "-c", "echo reason; exit 3")
        self.add("skipped", "sh", "-c", "exit 77", SKIP_RETURN_CODE=77)
        self.add("slow", "sleep", "600", TIMEOUT=1)
        self.add("alone", "true", RUN_SERIAL="ON")
        self.add("off", "false", DISABLED="ON")
        self.add("missing", self.build / "missing", LABELS="gtest")
        self.add("changed", "sh", "-c", 'test "$ONE:$TWO" = 1:a:b', ENVIRONMENT="ONE=1;TWO=a",
                 ENVIRONMENT_MODIFICATION="TWO=path_list_append:b")
        self.add("here", "sh", "-c", "test $PWD = /", WORKING_DIRECTORY="/")
        ran = self.run_tests()
        self.assertEqual(ran.outcomes, {
            "good": "passed", "bad": "failure", "skipped": "skipped", "slow": "failure", "alone": "passed", "off": "skipped",
            "missing": "failure", "changed": "passed", "here": "passed"}, ran.output)
        for text in ("reason\nexit code 3", "more than 1 s", "missing is not built"):
            self.assertIn(text, ran.output)


os.environ.pop("GTEST_FILTER", None)
unittest.main()
