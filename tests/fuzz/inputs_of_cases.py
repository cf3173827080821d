"""inputs_of_cases.py FOLDER FILE.case...: writes the pipeline of each case in tests/bad_pipelines into a separate file."""

import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for file in sys.argv[2:]:
    for case in ("\n" + pathlib.Path(file).read_text(encoding="utf-8")).split("\n--- ")[1:]:
        name, text = case.split("\n", 1)
        (folder / f"{name}.toml").write_text(text.split("====\n")[0], encoding="utf-8")
folder.touch()  # the time of the folder is that of its files
