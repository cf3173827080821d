"""Checks every relative link in Markdown files: links_test.py FILE_OR_FOLDER ...

In a folder, checks all *.md below it except in build folders. A link's file or folder must exist, and its
#anchor must belong to a heading. The source tree and an installation are both checked. In architecture.md, so must every path
in a table. Every block of Python must compile.
"""

import pathlib
import re
import sys
import textwrap
import urllib.parse

FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^( *)```python\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^()\s]+)\)")
CELL = re.compile(r"(?<=[|,] )`([a-z]+/[a-z0-9_./]+)`(?= [|]|, `)")
HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)


def text_of(file):
    return FENCE.sub("", file.read_text())


def anchors_of(file):
    """As GitHub makes them of headings: lower case, no punctuation, hyphens for blanks."""
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(text_of(file)))
    return {heading.replace(" ", "-") for heading in plain}


def problems_of(file):
    for target in LINK.findall(CODE.sub("", text_of(file))):
        if re.match(r"[a-z]+:", target):
            continue  # https: and the like
        path, _, anchor = urllib.parse.unquote(target).partition("#")
        there = file.parent / path if path else file
        if not there.exists():
            yield f"{file}: ({target}) is not there"
        elif anchor and anchor not in anchors_of(there):
            yield f"{file}: ({target}): '{there.name}' has no such heading"
    for _, code in PYTHON.findall(file.read_text()):
        try:
            compile(textwrap.dedent(code), "block", "exec")
        except SyntaxError as error:
            yield f"{file}: a block of Python does not compile: {error.msg}: {(error.text or '').strip()}"
    if file.name == "architecture.md" and (file.parent.parent / "pipeline").is_dir():
        for path in CELL.findall(file.read_text()):
            if not (file.parent.parent / path).exists():
                yield f"{file}: `{path}` is not there"


files = [
    file
    for where in map(pathlib.Path, sys.argv[1:])
    for file in (sorted(where.rglob("*.md")) if where.is_dir() else [where])
    if where == file or "build" not in file.relative_to(where).parts
]
found = [problem for file in files for problem in problems_of(file)]
print("\n".join(found) or f"{len(files)} files: every link leads somewhere, all Python compiles")
sys.exit(1 if found or not files else 0)
