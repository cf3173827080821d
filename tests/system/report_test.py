"""The page of `seam report`, parsed and compared with the files of the run: report_test.py SEAM."""

import html
import json
import re
import urllib.parse

from judge import Judge
from report_runs import HOSTILE, PIPELINE, Page, make_runs, report

judge = Judge()
folder = judge.folder


runs = make_runs(judge)
written = report(judge, HOSTILE)
judge.holds(written == folder / HOSTILE / "report.html", f"it is in {written}")
one = Page(written.read_text())
both = Page(report(judge, *runs, "--output", "both.html").read_text())
lines = [json.loads(line) for line in (folder / HOSTILE / "metrics.jsonl").read_text().splitlines()]
summary = json.loads((folder / HOSTILE / "summary.json").read_text())
# A run that draws nothing.
(folder / "plain.toml").write_text(PIPELINE.replace("-> fed ->", "->").replace("{recall, neighbours}", "recall"))
judge.run("plain.toml", "plain")
judge.holds(judge.results("plain") == judge.results(HOSTILE), "drawing changes the metrics or the weights")
reports = sorted((folder / HOSTILE / "reports").iterdir())
# A folder of runs is a table: parameters that differ, scores and their baselines.
written = report(judge, ".")
judge.holds(written == folder / "report.html", f"the table is in {written}")
table = written.read_text()
cells = [re.findall(r"<td.*?</td>", row) for row in re.findall(r"<tr><td.*", table)]
columns = re.findall(r"<th><button>(.*?)</button>", table)
judge.holds(columns[:5] == ["run", "state", "epochs", "file", "rate"] and "recall.none.r@1" in columns, f"columns are {columns}")
judge.holds(len(cells) == 3 and all(len(row) == len(columns) for row in cells), f"{len(cells)} rows")
judge.holds(f'<a href="./{urllib.parse.quote(HOSTILE)}/report.html">{html.escape(HOSTILE, quote=False)}' in
            table.replace("&quot;", '"') and '<a href="./plain/">plain</a>' in table, "rows lead to the runs' pages")
recall = [row[columns.index("recall.none.r@1")] for row in cells]
judge.holds(all("chance 0." in cell and "±" in cell for cell in recall), f"recall is {recall}")

judge.holds(one.title == HOSTILE, f"the title is {one.title}")
judge.holds(not one.addresses, f"it refers to {one.addresses}")
judge.holds(len(one.scripts) == 3, f"{len(one.scripts)} scripts: data, Chart.js and the page's own are expected")

run = one.data["runs"][0]
judge.holds(run["label"] == HOSTILE, f"the run is named {run['label']}")
judge.holds(run["summary"] == summary, "the summary differs")
judge.holds([score["metric"] for score in run["scores"]] and run["scores"][0]["metric"] == "recall.none.r@1",
            f"the scores are {run['scores']}")
last = [line["value"] for line in lines if line["stage"] == "recall" and line["name"] == "none.r@1"][-1]
judge.holds(abs(run["scores"][0]["value"] - last) < 1e-6, f"{run['scores'][0]} instead of {last}")
judge.holds("mask=none" in run["scores"][0].get("protocol", ""), f"no protocol in {run['scores'][0]}")
judge.holds(run["recall"][0]["k"] == [1, 5], f"recall at {run['recall']}")

# Every number that was recorded is in a curve.
names = {(line["stage"], line["name"]) for line in lines}
judge.holds({(curve["stage"], curve["name"]) for curve in run["curves"]} == names, "curves are missing")
loss = next(curve for curve in run["curves"] if (curve["stage"], curve["name"]) == ("triplet_loss", "loss"))
values = [line["value"] for line in lines if (line["stage"], line["name"]) == ("triplet_loss", "loss")]
judge.holds(len(loss["y"]) == len(values) and all(abs(a - b) <= 1e-5 * abs(b) for a, b in zip(loss["y"], values)),
            f"the loss is {loss['y']} instead of {values}")
judge.holds(all(a < b for a, b in zip(loss["x"], loss["x"][1:])) and loss["x"][-1] <= 2, f"steps at {loss['x']}")

latest = {path.stem.split("-", 2)[2] for path in reports}
judge.holds({report["name"] for report in run["reports"]} == latest, f"reports {[r['name'] for r in run['reports']]}")
judge.holds(all(report["moment"] == "epoch-0001" for report in run["reports"]), "reports of an earlier epoch")

drawn = {pictures["stage"]: pictures for pictures in run["pictures"]}
judge.holds(sorted(drawn) == ["fed", "neighbours"], f"drawings of {sorted(drawn)}")
judge.holds(drawn["fed"]["epoch"] == 0 and drawn["neighbours"]["epoch"] == 1, "drawings of other epochs")
jpeg = "data:image/jpeg;base64,/9j/"
judge.holds(all(sheet["picture"].startswith(jpeg) for sheet in drawn["fed"]["sheets"]), "a sheet is missing")
shown = [query for group in drawn["neighbours"]["groups"] for query in group["queries"]]
judge.holds(len(shown) > 8, f"{len(shown)} queries are shown")
for query in shown:
    for picture in [query["query"], *query["neighbours"]]:
        judge.holds(picture.get("picture", "").startswith(jpeg), f"no picture of {picture}")
    for found in query["neighbours"]:
        judge.holds(found["right"] == (found["item"] == query["query"]["item"]), f"framed wrongly: {found['name']}")

rate = [setting for setting in run["settings"] if setting["table"] == "stage.adam" and setting["key"] == "rate"]
judge.holds(len(rate) == 1 and rate[0]["default"], f"the rate is {rate}")
changed = {difference["name"]: difference["values"] for difference in both.data["differences"]}
judge.holds(list(changed) == ["stage.adam.rate"] and changed["stage.adam.rate"][1] == "0.002", f"differences: {changed}")

print(f"{len(lines)} numbers in {len(run['curves'])} curves, {len(run['reports'])} reports")
judge.end()
