#!/usr/bin/env python3
"""Speaks GoogleTest's protocol: lists the cases of a set, or runs those that GTEST_FILTER names.

    fake_gtest.py SET [--gtest_list_tests]
"""

import os
import pathlib
import signal
import sys
import time

CASES = {
    "fine": ["passes", "skips", "talks", "passes_too"],
    "broken": ["passes", "fails", "crashes", "exits", "hangs", "passes_last"],
    "empty": [],
    "leaking": ["passes"],
    "forgetful": ["passes", "is_forgotten"],
    "unsure": ["passes", "breaks_between", "passes_after"],
}


def run(name, case):
    print(f"[ RUN      ] {name}", flush=True)
    mark = "[       OK ]"
    if case == "fails":
        print("expected 1, got 2")
        mark = "[  FAILED  ]"
    elif case == "skips":
        print("no camera")
        mark = "[  SKIPPED ]"
    elif case == "talks":  # an unterminated last line, and words that look like the protocol
        print(f"[       OK ] Other.case (0 ms)\n[  FAILED  ] {name}\nno end of line", end="")
    elif case == "crashes":
        print("before the crash", flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    elif case == "exits":
        os._exit(0)
    elif case == "hangs":
        if os.fork() == 0:  # holds the pipe open, in a separate group
            os.setpgid(0, 0)
            pathlib.Path(f"{os.environ['STARTS']}.child").write_text(str(os.getpid()))
            time.sleep(600)
        time.sleep(600)
    print(f"{mark} {name} (0 ms)", flush=True)
    return mark != "[  FAILED  ]"


def main():
    kind, cases = sys.argv[1], CASES[sys.argv[1]]
    if "--gtest_list_tests" in sys.argv:
        print("Running main() from fake_gtest.py", *["Fake."] + [f"  {case}  # a comment" for case in cases], sep="\n")
        return 0
    with open(pathlib.Path(os.environ["STARTS"]), "a") as starts:
        starts.write(f"{kind}\n")
    passed = True
    for name in os.environ["GTEST_FILTER"].split(":"):
        case = name.removeprefix("Fake.")
        if case == "is_forgotten":
            continue
        passed &= run(name, case)
        if case == "breaks_between":
            print("the suite's teardown crashed", flush=True)
            os.kill(os.getpid(), signal.SIGABRT)
    if kind == "leaking":
        print("17 bytes leaked", flush=True)
        return 23
    return 0 if passed else 1


sys.exit(main())
