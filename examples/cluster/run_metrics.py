#!/usr/bin/env python3
"""The state of a run in Prometheus' text format, for node_exporter's textfile collector:

    run_metrics.py DIR > /var/lib/node_exporter/seam.prom.part && mv /var/lib/node_exporter/seam.prom{.part,}
"""

import json
import pathlib
import sys
from datetime import datetime


def lines_of(file):
    """The last line may not be complete while the run is under way."""
    text = file.read_text() if file.exists() else ""
    return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]


def sample(series, value, **labels):
    text = ",".join(f"{key}={json.dumps(str(label), ensure_ascii=False)}" for key, label in labels.items())
    print(f"seam_{series}{{{text}}} {value}")


run = pathlib.Path(sys.argv[1])
values = {(line["flow"], line["stage"], line["name"]): line["value"] for line in lines_of(run / "metrics.jsonl")}
flows = {line["flow"]: line for line in lines_of(run / "timing.jsonl")}
summary = json.loads((run / "summary.json").read_text()) if (run / "summary.json").exists() else {}
print("# TYPE seam_metric gauge")
for (flow, stage, name), value in values.items():
    sample("metric", "NaN" if value is None else value, run=run.name, flow=flow, stage=stage, name=name)
for key in ("epoch", "images_per_second"):
    print(f"# TYPE seam_{key} gauge")
    for flow, line in flows.items():
        sample(key, line[key], run=run.name, flow=flow)
print("# TYPE seam_flow_end_seconds gauge")
for flow, line in flows.items():
    began = datetime.fromisoformat(line["began"].replace("Z", "+00:00")).timestamp()
    sample("flow_end_seconds", round(began + line["seconds"], 3), run=run.name, flow=flow)
print("# TYPE seam_complete gauge")
sample("complete", int(summary.get("complete", False)), run=run.name)
