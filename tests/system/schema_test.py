"""Validates pipeline files against the schema that `seam schema` prints: schema_test.py SEAM SOURCE_TREE."""

import json
import pathlib
import subprocess
import sys

from judge import needed

jsonschema, tomllib = needed("jsonschema", "tomllib")  # tomllib needs Python 3.11

seam, tree = sys.argv[1], pathlib.Path(sys.argv[2])
printed = subprocess.run([seam, "schema"], check=True, capture_output=True, text=True).stdout
validator = jsonschema.Draft7Validator(json.loads(printed))
validator.check_schema(validator.schema)
failures = []


def problems(text):
    return [problem.message for problem in validator.iter_errors(tomllib.loads(text))]


good = [*tree.glob("pipelines/**/*.toml"), tree / "sdk/template/pipeline.toml"]
for file in good:
    for problem in problems(file.read_text()):
        failures.append(f"{file} is fine, but: {problem}")

bad = {
    "an unknown table": "[stages.a]\nuse = 'batch'",
    "an unknown stage": "[stage.a]\nuse = 'image.decoed'",
    "an unknown parameter": "[stage.a]\nuse = 'image.resize'\nheigth = 3",
    "a wrong type": "[stage.a]\nuse = 'image.resize'\nheight = 'tall'",
    "a value out of range": "[stage.a]\nuse = 'image.resize'\nheight = 0",
    "no such choice": "[stage.a]\nuse = 'image.resize'\ninterpolation = 'cubic'",
    "concurrency of a serial stage": "[stage.a]\nuse = 'batch'\nconcurrency = 3",
    "a wrong policy": "[stage.a]\nuse = 'batch'\non_error = 'ignore'",
    "a flow that is not a text": "[flow]\ntrain = 3",
    "a path that is not a text": "[path]\nprepare = 3",
    "a stage like no name": "[stage.a]\nlike = 3",
    "a wrong schedule": "[schedule]\nepochs = 0",
}
for what, text in bad.items():
    if not problems(text):
        failures.append(f"{what} passes:\n{text}")

documented = json.dumps(validator.schema).count('"description"')
print(f"{len(good)} files pass, {len(bad)} mistakes are found, {documented} descriptions")
print("\n".join(failures))
sys.exit(1 if failures else 0)
