#!/usr/bin/env python3
"""Finds phrases in messages, comments and pages that read like a translation.

    scripts/wording.py [FILE ...]

Prints each line that has one, with plain English for it. Without FILEs, looks through every tracked text.
scripts/lint runs this check.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUFFIXES = {".cpp", ".hpp", ".h", ".md", ".py", ".toml", ".txt", ".cmake", ".js", ".css", ".html", ".yml", ".bash", ""}

# Pattern: what a native speaker writes instead.
PHRASES = {
    r"\b[Ww]here (it|they|there|this|that|none|nothing|nobody|asked)[ ]":
        '"if" for a condition, "when" for a moment',
    r"([Tt]hrows?|[Ww]arns?|[Ee]mpty|[Nn]ull|[Nn]othing|none|nan)\b[^.;]{0,60} where (the|a|an|one|no|its|two|they)\b":
        '"if" for a condition',
    r"\bso many\b":
        'N, or "this many"',
    r"([^e]|[^r]e|[^e]re|[^h]ere) (is|are|was|were) no ([^l ]|l[^o])[a-zA-Z]*":
        'negate the verb: "is not a"',
    r"\b(images?|pictures?|lines?|rows?|values?|numbers?|packets?|words?|sentences?|capsules?|prox(y|ies)|string|object|one|task) a (packet|row|line|class|category|epoch|flow|run|image|picture|batch|item|stage|query|step|file|number|channel|group|page|message|library|parameter)\b":
        '"per"',
    r"\b[Ww]hoever\b|\bfor who\b|\b[Ww]ho (only|asks|reads|watches|listens|puts|takes|knows|visits|compares|calls|holds|writes)\b":
        'name the agent: the caller, the reader',
    r"\b[Gg]o(es|ing|ne)? on( |\.|,|;|:)|\bwent on\b":
        'continue, resume',
    r"\bhand(s|ed|ing)? (it |them |the [a-z]+ )?on\b":
        'pass on',
    r"\b(is|are|was|were|be) (said|spoken of|heard|told right)\b|\basked for\b":
        'given, requested, reported',
    r"\b([Ss]ays?|said) (nothing|of|no)\b":
        'describes, does not specify',
    r"\b([Nn]obody|[Ss]omebody)\b":
        'name the agent: no stage, the user',
    r"\bof which (a|an|the|all|each|one|it|no|any|every|two|there|some)\b|\bof whom\b":
        '"from which", "whose", or two sentences',
    r"\b(a|an|one) [a-z-]+ of (its|their) own\b":
        '"a separate X" or "its own X"',
    r"\b([Bb]ehind|in front of) (the|a|an|it|them|this|that|these|those|each|one|any|every|all|some|skip|image|conv|`|\[)":
        'order is "after" and "before"',
    r"\bin the place of\b":
        'instead of',
    r'\b(took|takes?|taken|taking) in( (a|the|its|one|several|packets?|images?|for)|[,;.:)\"]| and| but| since| after|$)':
        'receive',
    r"\bof another (type|shape|size|width|format|kind|architecture|pipeline|release|version|length|model|name|class|epoch|program)\b|\bis another\b":
        '"different" is not "one more"',
    r"\b[Ss]tands? (on|at|behind|before|beside|between|there|under|below|where|alone|once|still)\b":
        'is, appears',
    r"^ *(///<?!?|//|#) What (a|an|the|is|was|becomes|every|each|all|stages|runs|one|this|people|goes|happened|it|remains|some|they|others)[ ]":
        'name the thing: "The ..."',
    r'\b[Nn]or (has|is|can|are|have|will|did)\b|(^|[.:;\"] )(Compared|Identical|Near|Left|Not compared) (are|is)\b':
        'normal word order',
    r"\b(is|are) the most\b|\ba least number\b":
        'maximum, minimum',
    r"\b[Cc]omes? (a second time|twice|again|out of it|to it)\b":
        'occurs twice, is repeated',
    r'\b[Ww]hat [^.;,|\"]{1,45} (is|are) called\b':
        '"name of"',
    r"\b[Aa]s ([A-Za-z0-9_.'-]+ ){1,5}(has|have|wants?) it\b":
        '"as in"',
    r"\b(learnt|anew)\b":
        'learned, again',
}
COMPILED = [(re.compile(pattern), instead) for pattern, instead in PHRASES.items()]


def findings(file):
    """Lines of a file that have one of the phrases."""
    if file == pathlib.Path(__file__).resolve():
        return
    for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        for pattern, instead in COMPILED:
            if found := pattern.search(line):
                yield f"{file}:{number}: error: '{found[0].strip()}': {instead}"


def tracked_texts():
    names = subprocess.run(["git", "-C", ROOT, "ls-files"], check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in names.splitlines()
            if pathlib.Path(name).suffix in SUFFIXES and name != "LICENSE" and (ROOT / name).is_file()]


if __name__ == "__main__":
    found = [finding for file in map(pathlib.Path, sys.argv[1:] or tracked_texts()) for finding in findings(file)]
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)
