"""Roles that a plugin outside Seam declares: roles_test.py SEAM PLUGINS.

Runs of its stages, none of whose names suggests a role, are compared without the plugin.
"""

import json
import pathlib
import sys

from judge import Judge

PIPELINE = """
[stage.numbers]
use = "fixture.shares"
[stage.total]
use = "test.total"
[stage.album]
use = "fixture.album"
[flow]
evaluate = "numbers -> {total, album}"
"""

judge = Judge()
plugins = pathlib.Path(sys.argv[2]).resolve()
(judge.folder / "shares.toml").write_text(PIPELINE)


def run(name, *settings):
    options = [option for setting in settings for option in ("--set", setting)]
    judge.run("shares.toml", name, "--plugin-path", plugins, "--plugin-path", plugins.parent / "good", *options)


def compared(*runs):
    """The names of the runs in each row of each ranking."""
    found = json.loads(judge.succeed("compare", *runs, "--metric", "total.total", "--json").stdout)
    return [sorted([one["run"] for one in group["runs"]] for group in ranking["groups"]) for ranking in found["rankings"]]


run("first")
run("second", "stage.numbers.part=1")
run("whole", "stage.numbers.parts=1")
run("faster", "stage.numbers.lanes=2")
run("drawn", "stage.album.k=9")
run("other", "stage.total.rules=new")
judge.check("shares are averaged", compared("first", "second"), [[["first", "second"]]])
judge.check("the whole is not one of the shares", len(sum(compared("first", "whole"), [])), 2)
judge.check("lanes do not matter", compared("first", "faster"), [[["first"]]])
judge.check("what only writes does not change what is measured", compared("first", "drawn"), [[["drawn"], ["first"]]])
judge.check("other rules are ranked separately", len(compared("first", "other")), 2)
judge.check("the protocol", [score["protocol"] for score in judge.scores("other")], ["new", "new"])
judge.end()
