"use strict";
// Draws the data of report_data.cpp. Strings from users are inserted only through textContent.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const runs = data.runs;
  const several = runs.length > 1;
  const page = document.getElementById("page");

  // --- elements

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === undefined || value === null) continue;
      if (name === "class") element.className = value;
      else element.setAttribute(name, value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
  }
  const sections = [];
  function section(id, title, ...children) {
    const content = children.flat().filter((child) => child);
    if (content.length === 0) return;
    sections.push({ id, title });
    page.append(make("section", { id }, make("h2", {}, title), ...content));
  }
  const swatch = (run) => make("span", { class: "swatch", style: `background: var(--run${run % 8})` });
  const runName = (run) => make("span", {}, swatch(run), runs[run].label);

  // --- numbers

  const isShare = (name) => /(^|\.)(r@\d+|mrr@\d+|map@r|r_precision|accuracy|accuracy_at_margin|eer|tar@[\d.e-]+)$/.test(name);
  const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
  function plain(value) {
    if (!isNumber(value)) return value === null || value === undefined ? "–" : String(value);
    if (value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e6)) return String(Number(value.toPrecision(4))).includes("e")
      ? value.toExponential(3).replace(/\.?0+e/, "e") : String(Number(value.toPrecision(4)));
    return String(Number(value.toPrecision(5)));
  }
  const percent = (share, digits = 1) => (100 * share).toFixed(digits);
  function shown(name, value) {
    if (value === null) return "not a number";
    return isShare(name) && isNumber(value) ? `${percent(value, 2)} %` : plain(value);
  }
  const count = (value) => (isNumber(value) ? value.toLocaleString("en-US") : "–");
  function duration(seconds) {
    if (!isNumber(seconds)) return "–";
    if (seconds < 10) return `${Number(seconds.toPrecision(2))} s`;
    if (seconds < 60) return `${Math.round(seconds)} s`;
    const minutes = Math.floor(seconds / 60);
    if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
    return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  }
  /// "recall.none.r@1" as {name: "recall@1", of: "recall, mask none"}.
  function metricName(metric) {
    const parts = metric.split(".");
    const last = parts.pop();
    const name = last.replace(/^r@(\d+)$/, "recall@$1");
    if (parts.length > 1 && isShare(metric)) return { name, of: `${parts.shift()}, mask ${parts.join(".")}` };
    return { name, of: parts.join(".") };
  }

  // --- tables

  /// Cells are texts or elements; `numbers`: right-aligned columns. Clicking a heading sorts.
  function table(head, rows, { numbers = [], kind = "" } = {}) {
    const body = make("tbody");
    const fill = (ordered) => body.replaceChildren(...ordered.map((row) => row.element));
    const items = rows.map((row) => ({
      cells: row,
      element: make("tr", {}, row.map((cell, column) => {
        if (cell instanceof HTMLTableCellElement) return cell;
        return make("td", { class: numbers.includes(column) ? "number" : null }, cell);
      })),
    }));
    const key = (item, column) => {
      const text = item.element.children[column].textContent.replace(/,(?=\d{3})/g, "");
      const number = parseFloat(text);
      return Number.isNaN(number) ? text : number;
    };
    const headings = head.map((title, column) => {
      const heading = make("th", { scope: "col", class: numbers.includes(column) ? "number" : null });
      if (rows.length < 2) {
        heading.append(title);
        return heading;
      }
      const button = make("button", { type: "button" }, title);
      button.addEventListener("click", () => {
        const down = heading.getAttribute("aria-sort") !== "descending";
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        const ordered = [...items].sort((a, b) => {
          const [x, y] = [key(a, column), key(b, column)];
          const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
          return down ? -order : order;
        });
        fill(ordered);
      });
      heading.append(button);
      return heading;
    });
    fill(items);
    return make("div", { class: "scroll" }, make("table", { class: kind }, make("thead", {}, make("tr", {}, headings)), body));
  }

  // --- charts

  const charts = [];
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const dashes = [[], [6, 4], [2, 3], [10, 4, 2, 4], [1, 5], [8, 2]];
  /// A line: {label, run, dash, x, y}.
  function dataset(line) {
    const points = line.x.map((x, i) => ({ x, y: line.y[i] }));
    return {
      label: line.label,
      data: points,
      borderWidth: 2,
      borderDash: dashes[(line.dash || 0) % dashes.length],
      pointRadius: points.length > 40 ? 0 : 2.5,
      pointHitRadius: 8,
      tension: 0,
      run: line.run,
    };
  }
  function paint(chart) {
    chart.data.datasets.forEach((set) => {
      set.borderColor = set.backgroundColor = set.pointBackgroundColor = set.pointBorderColor = colour(`--run${set.run % 8}`);
    });
    for (const axis of Object.values(chart.options.scales)) {
      axis.ticks.color = axis.title.color = colour("--soft");
      axis.grid.color = colour("--line");
    }
    chart.options.plugins.legend.labels.color = colour("--text");
    chart.update("none");
  }
  function chart(title, lines, { x = "epoch", share = false, note = "" } = {}) {
    const canvas = make("canvas", { role: "img", "aria-label": `${title}: ${lines.map((line) => line.label).join(", ")}` });
    const box = make("div", { class: "chart" }, make("h3", {}, title), make("div", { class: "canvas" }, canvas),
      note ? make("p", { class: "soft small" }, note) : null);
    const number = (value) => (share ? `${percent(value, 1)} %` : plain(value));
    const axis = (text) => ({ type: "linear", title: { display: Boolean(text), text }, ticks: { maxRotation: 0 }, grid: {} });
    const options = {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      spanGaps: false,
      interaction: { mode: "nearest", axis: "x", intersect: false },
      plugins: {
        legend: { display: lines.length > 1, position: "bottom", labels: { boxWidth: 18, boxHeight: 2 } },
        tooltip: { callbacks: {
          title: (items) => `${x} ${plain(items[0].parsed.x)}`,
          label: (item) => `${item.dataset.label}: ${number(item.parsed.y)}`,
        } },
      },
      scales: { x: axis(x), y: axis("") },
    };
    options.scales.x.min = 0;
    options.scales.x.max = Math.ceil(Math.max(...lines.flatMap((line) => line.x)));
    options.scales.y.ticks.callback = share ? (value) => `${Number((100 * value).toPrecision(6))} %` : (value) => plain(value);
    charts.push(() => {
      const made = new Chart(canvas, { type: "line", data: { datasets: lines.map(dataset) }, options });
      paint(made);
      return made;
    });
    return box;
  }

  // --- score

  const epochText = (epoch) => (isNumber(epoch) ? `epoch ${epoch + 1}` : "");
  const momentOf = (score) => (score.when === "before" ? "before training" : epochText(score.epoch));
  /** A metric that several flows recorded is not one score. */
  const flowsOf = (metric) => new Set(runs.flatMap((run) => run.scores.filter((score) => score.metric === metric).map((score) => score.flow)));
  function scoreName(score) {
    const { name, of } = metricName(score.metric);
    const flow = flowsOf(score.metric).size > 1 ? `, flow ${score.flow}` : "";
    return [name, " ", make("span", { class: "soft" }, of + flow)];
  }
  const selections = { train: "selected by its training", val: "selected on other data", test: "selected on this data itself: biased upwards" };
  /** How the evaluated weights were selected, if they were. */
  function selectionLines(score) {
    return (score.weights || []).map((weights) => make("div", { class: weights.selected_on === "test" ? "warn small" : "soft small" },
      `${weights.stage} started with ${weights.file}, ${weights.chosen_by
        ? `the best by ${weights.chosen_by}, ${selections[weights.selected_on] || "on unknown data"}`
        : "how it was selected is unknown"}`));
  }
  function untrainedLines(score) {
    return (score.untrained || []).map((one) => make("div", { class: "warn small" },
      `${one.stage} reads ${one.field}, but no loss trains ${one.scores} of ${one.model}: a guess`));
  }

  /** The baselines of the score: chance, the untrained network, floors. */
  function besideLine(score) {
    const values = (score.beside || []).filter((one) => isNumber(one.value));
    return values.length === 0 ? [] : [make("div", { class: "soft small" },
      values.map((one) => `${one.name} ${shown(score.metric, one.value)}`).join(", "))];
  }

  function scoreTile(score) {
    const value = make("div", { class: "value" }, shown(score.metric, score.value));
    if (isNumber(score.standard_error)) {
      value.append(" ", make("small", {}, `± ${isShare(score.metric) ? percent(score.standard_error, 2) : plain(score.standard_error)}`));
    }
    const lines = [make("div", {}, scoreName(score)), value];
    const best = score.best;
    if (best && isNumber(best.value) && best.epoch !== score.epoch) {
      lines.push(make("div", { class: "soft small" },
        `${epochText(score.epoch)}; best ${shown(score.metric, best.value)} in ${epochText(best.epoch)}, selected on this data itself`));
    } else if (isNumber(score.epoch)) {
      lines.push(make("div", { class: "soft small" }, momentOf(score) + (best && score.epoch > 0 ? ", the best" : "")));
    }
    if (score.protocol) lines.push(make("div", { class: "soft small" }, make("code", {}, score.protocol)));
    lines.push(...besideLine(score), ...selectionLines(score), ...untrainedLines(score));
    return make("div", { class: "tile" }, lines);
  }
  function scoreTable() {
    const same = (a, b) => a.metric === b.metric && a.flow === b.flow;
    const all = runs.flatMap((run) => run.scores);
    const rows = all.filter((one, at) => all.findIndex((other) => same(one, other)) === at).map((one) => {
      const { metric } = one;
      const scores = runs.map((run) => run.scores.find((score) => same(score, one)));
      const protocols = new Set(scores.filter(Boolean).map((score) => score.protocol || ""));
      const biased = scores.some((score) => score && score.selected_on === "test");
      const files = runs.filter((_, run) => scores[run]).map((run) => run.launch.data || {});
      const differ = files.some((a) => files.some((b) => Object.keys(a).some((key) => key in b && a[key] !== b[key])));
      const comparable = protocols.size === 1 && !protocols.has("") && !differ && !biased;
      const values = scores.filter((score) => score && isNumber(score.value)).map((score) => score.value);
      const better = (scores.find(Boolean) || {}).better;
      const best = better === "lower" ? Math.min(...values) : Math.max(...values);
      return [make("span", {}, scoreName(one),
        values.length > 1 && !comparable && !biased ? make("div", { class: "warn small" },
          protocols.size > 1 ? "different protocols: not comparable" : differ ? "different data files: use `seam compare`"
            : "no protocol set: use `seam compare`") : null),
      ...scores.map((score) => make("td", { class: score && values.length > 1 && comparable && score.value === best ? "number best" : "number" },
        score ? shown(metric, score.value) + (isNumber(score.standard_error)
          ? ` ± ${isShare(metric) ? percent(score.standard_error, 2) : plain(score.standard_error)}` : "") : "–",
        score && isNumber(score.epoch) ? make("div", { class: "soft small" }, momentOf(score)) : null,
        score ? besideLine(score) : null, score ? selectionLines(score) : null, score ? untrainedLines(score) : null))];
    });
    const protocols = [...new Set(runs.flatMap((run) => run.scores.map((score) => score.protocol).filter(Boolean)))];
    return [table(["metric", ...runs.map((_, run) => runName(run))], rows, { numbers: runs.map((_, run) => run + 1) }),
      ...protocols.map((protocol) => make("p", { class: "soft small" }, make("code", {}, protocol)))];
  }
  function facts(run) {
    const summary = run.summary;
    const line = make("div", { class: "facts" });
    const add = (text) => text && line.append(make("span", {}, text));
    if (summary) {
      if (isNumber(summary.epochs_done)) add(`${count(summary.epochs_done)} of ${count(summary.epochs)} epochs${summary.stopped_early ? ", stopped early" : ""}`);
      add(duration(run.timing.reduce((sum, flow) => sum + (flow.seconds || 0), 0)) + " in flows");
      add(`${summary.device || "?"}, ${summary.precision || "?"}`);
      if (summary.skipped_packets > 0) add(`${count(summary.skipped_packets)} packets skipped`);
    } else {
      add("no summary yet: the run is in progress or was killed");
    }
    if (run.launch.started) add(`started ${run.launch.started}`);
    const box = [line];
    if (summary && summary.outcome && summary.outcome !== "success") {
      box.push(make("p", { class: "bad" }, `${summary.outcome}${summary.error ? `: ${summary.error}` : ""}`));
    }
    if (run.launch.evaluates) box.push(make("p", { class: "small" }, `Evaluates ${run.launch.evaluates}`));
    if (run.launch.from) box.push(make("p", { class: "warn small" }, `Started with ${run.launch.from}`));
    for (const note of run.notes) box.push(make("p", { class: "warn small" }, note));
    for (const curve of run.curves.filter((each) => each.not_finite > 0)) {
      box.push(make("p", { class: "bad" }, `${curve.stage}.${curve.name} was not finite in ${count(curve.not_finite)} records.`));
    }
    return box;
  }
  function head() {
    page.append(make("h1", {}, several ? `${runs.length} runs` : runs[0].label));
    const nav = make("nav", { "aria-label": "Sections" });
    if (several) {
      runs.forEach((run, i) => page.append(make("h3", {}, runName(i)), ...facts(run)));
      page.append(...scoreTable());
    } else {
      page.append(...facts(runs[0]));
      const tiles = runs[0].scores.map(scoreTile);
      page.append(tiles.length ? make("div", { class: "tiles" }, tiles)
        : make("p", { class: "soft" }, "The run recorded no score yet."));
    }
    page.append(nav);
    return nav;
  }

  // --- curves

  const lineName = (run, text) => (several ? (text ? `${runs[run].label}: ${text}` : runs[run].label) : text);
  /** "recall.loss", or "recall.loss, before" for an evaluation before the first epoch. */
  const withMoment = (name, one) => [name, one.when].filter(Boolean).join(", ");
  const recallName = (recall) => withMoment([recall.stage, recall.mask].filter(Boolean).join(", "), recall);
  const curveName = (curve) => withMoment(`${curve.stage}.${curve.name}`, curve);
  function recallCharts() {
    const kinds = [...new Set(runs.flatMap((run) => run.recall.map(recallName)))];
    const lines = [];
    runs.forEach((run, i) => run.recall.forEach((recall) => {
      const kind = kinds.indexOf(recallName(recall));
      const name = kinds.length > 1 || !several ? recallName(recall) : "";
      lines.push({ label: lineName(i, name), run: several ? i : kind, dash: several ? kind : 0, x: recall.k, y: recall.value });
    }));
    const boxes = lines.some((line) => line.x.length > 1) ? [chart("Recall@K at the end", lines, { x: "K", share: true })] : [];
    const epochs = curveLines((curve) => curve.kind === "epochs" && runs.some((run) => run.recall.some((recall) =>
      recall.stage === curve.stage && curve.name === `${recall.mask ? `${recall.mask}.` : ""}r@${recall.k[0]}`)));
    if (epochs.some((line) => line.x.length > 1)) boxes.push(chart("Recall over the run", epochs, { share: true }));
    return boxes.length ? [make("div", { class: "charts" }, boxes)] : [];
  }
  function rocCharts() {
    const stages = [...new Set(runs.flatMap((run) => run.pictures.filter((set) => set.kind === "roc").map((set) => set.stage)))];
    const lines = runs.flatMap((run, i) => run.pictures.filter((set) => set.kind === "roc").map((set) => {
      const kind = stages.indexOf(set.stage);
      const name = stages.length > 1 || !several ? `${set.stage}, ${epochText(set.epoch)}` : "";
      return { label: lineName(i, name), run: several ? i : kind, dash: several ? kind : 0, x: set.far || [], y: set.tar || [] };
    })).filter((line) => line.x.length > 1 && line.x.length === line.y.length);
    if (!lines.length) return [];
    return [make("div", { class: "charts" }, [chart("True accept rate", lines, { x: "false accept rate", share: true })])];
  }
  function curveLines(wanted) {
    const names = [...new Set(runs.flatMap((run) => run.curves.filter(wanted).map(curveName)))];
    return runs.flatMap((run, i) => run.curves.filter(wanted).map((curve) => {
      const kind = names.indexOf(curveName(curve));
      const name = names.length > 1 || !several ? curveName(curve) : "";
      return { label: lineName(i, name), run: several ? i : kind, dash: several ? kind : 0, x: curve.x, y: curve.y,
        steps: curve.steps_per_point };
    }));
  }
  function metricChart(key) {
    const wanted = (curve) => `${curve.flow}\n${curve.stage}\n${curve.name}` === key;
    const lines = curveLines(wanted);
    const [flow, stage, name] = key.split("\n");
    const steps = Math.max(...lines.map((line) => line.steps));
    return chart(`${stage}.${name}`, lines, { share: isShare(name), note: steps > 1
      ? `flow ${flow}; a point is the mean of up to ${count(steps)} records` : `flow ${flow}` });
  }
  function trainingCharts() {
    const keys = [...new Set(runs.flatMap((run) => run.curves.map((curve) => `${curve.flow}\n${curve.stage}\n${curve.name}`)))];
    const curvesOf = (key) => runs.flatMap((run) => run.curves.filter((curve) => `${curve.flow}\n${curve.stage}\n${curve.name}` === key));
    const repeats = (key) => {
      if (!key.endsWith("\ntotal")) return false;  // of a single loss
      const text = (curves) => JSON.stringify(curves.map((curve) => curve.y));
      const loss = keys.find((other) => other.endsWith("\nloss") && other.split("\n")[1] === key.split("\n")[1]);
      return loss !== undefined && text(curvesOf(loss)) === text(curvesOf(key));
    };
    const useful = keys.filter((key) => !/\.(optimistic|pessimistic|interval_low|interval_high|chance)$/.test(key) && !repeats(key) &&
      curvesOf(key).some((curve) => curve.x.length > 1));
    const first = useful.filter((key) => /\n(loss|total|rate)$/.test(key));
    const recorded = (key) => curvesOf(key).some((curve) => /^r@\d+$/.test(curve.name));
    const rest = useful.filter((key) => !first.includes(key) && !recorded(key));
    const box = first.length ? [make("div", { class: "charts" }, first.map(metricChart))] : [];
    if (rest.length) {
      const more = make("details", {}, make("summary", {}, `${rest.length} more ${rest.length === 1 ? "metric" : "metrics"}`));
      more.addEventListener("toggle", () => {
        if (more.open && more.children.length === 1) {
          more.append(make("div", { class: "charts" }, rest.map(metricChart)));
          drawCharts();
        }
      });
      box.push(more);
    }
    return box;
  }

  // --- pictures

  function figure(picture, kind, ...caption) {
    const box = make("div", { class: "picture" }, picture.picture
      ? make("img", { src: picture.picture, alt: picture.name || "picture", loading: "lazy" })
      : make("span", { title: picture.problem }, "missing"));
    return make("figure", { class: kind, title: [picture.name, picture.problem].filter(Boolean).join("\n") }, box,
      make("figcaption", {}, caption));
  }
  function neighbourSet(set) {
    const box = [make("h3", {}, `${set.stage}, ${epochText(set.epoch)}`)];
    if (set.note) box.push(make("p", { class: "soft small" }, set.note));
    for (const group of set.groups || []) {
      box.push(make("h3", {}, group.title));
      for (const query of group.queries || []) {
        const row = make("div", { class: "query" }, figure(query.query, "asked", make("b", {}, "query"), ` ${query.query.item || ""}`));
        (query.neighbours || []).forEach((found, i) => row.append(figure(found, found.right ? "right" : "wrong",
          make("b", {}, `${found.right ? "✓ " : ""}${i + 1}`), ` ${isNumber(found.distance) ? Number(found.distance.toPrecision(3)) : ""}`)));
        box.push(row);
      }
    }
    return box;
  }
  function sheetSet(set) {
    const box = [make("h3", {}, `${set.stage}, ${epochText(set.epoch)}`)];
    if (set.note) box.push(make("p", { class: "soft small" }, set.note));
    for (const sheet of set.sheets || []) {
      box.push(make("p", { class: "small" }, sheet.title || ""));
      box.push(sheet.picture ? make("img", { class: "sheet", src: sheet.picture, alt: sheet.title || "contact sheet", loading: "lazy" })
        : make("p", { class: "warn" }, sheet.problem || "missing"));
    }
    return box;
  }
  function pictures(kind, draw) {
    return runs.flatMap((run, i) => {
      const sets = run.pictures.filter((set) => set.kind === kind);
      return sets.length && several ? [make("h3", {}, runName(i)), ...sets.flatMap(draw)] : sets.flatMap(draw);
    });
  }

  // --- reports: the part of Markdown that stages write

  function inline(text) {
    const parts = text.split(/(`[^`]*`|\*\*[^*]+\*\*)/);
    return parts.map((part) => {
      if (part.length > 2 && part.startsWith("`")) return make("code", {}, part.slice(1, -1));
      if (part.length > 4 && part.startsWith("**")) return make("strong", {}, part.slice(2, -2));
      return part;
    });
  }
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  function markdown(text) {
    const lines = text.split("\n");
    const box = [];
    for (let i = 0; i < lines.length; ++i) {
      const line = lines[i];
      if (line.startsWith("|") && i + 1 < lines.length && /^\|[\s:|-]+\|$/.test(lines[i + 1].trim())) {
        const titles = cells(line);
        const numbers = cells(lines[i + 1]).map((rule, column) => (rule.endsWith(":") ? column : -1)).filter((column) => column >= 0);
        const rows = [];
        for (i += 2; i < lines.length && lines[i].startsWith("|"); ++i) {
          const row = cells(lines[i]);
          rows.push(titles.map((_, column) => make("span", {}, inline(row[column] || ""))));
        }
        --i;
        box.push(table(titles, rows, { numbers }));
      } else if (/^#+ /.test(line)) {
        box.push(make("h3", {}, line.replace(/^#+ /, "")));
      } else if (line.trim()) {
        box.push(make("p", {}, inline(line)));
      }
    }
    return box;
  }
  const momentText = (moment) => moment.replace(/^epoch-(\d+)$/, (_, epoch) => epochText(Number(epoch)));
  function reports() {
    const names = [...new Set(runs.flatMap((run) => run.reports.map((report) => report.name)))].sort();
    return names.flatMap((name) => runs.flatMap((run, i) => {
      const report = run.reports.find((each) => each.name === name);
      if (!report) return [];
      const where = make("p", { class: "soft small" }, several ? runName(i) : "", several ? " · " : "", `${name}, ${momentText(report.moment)}`);
      const drawn = markdown(report.text);
      return [drawn.length ? drawn[0] : "", where, ...drawn.slice(1)];
    }));
  }

  // --- time

  const packets = (stage) => (stage.source ? stage.emitted : stage.received);
  const mebibytes = (bytes) => (bytes > 0 && bytes < 0.05 * 2 ** 20 ? "<0.1 MiB" : bytes > 0 ? `${bytes < 9.95 * 2 ** 20 ? (bytes / 2 ** 20).toFixed(1) : count(Math.round(bytes / 2 ** 20))} MiB` : "");
  const most = (stages, field) => stages.reduce((a, b) => ((b[field] || 0) > (a[field] || 0) ? b : a), stages[0]);
  function flowTime(flow, i) {
    const longest = Math.max(1, ...flow.stages.map((stage) => stage.share_of_wall_time));
    const measured = flow.stages.some((stage) => stage.tensor_bytes_in_use > 0);
    const rows = flow.stages.map((stage) => {
      const share = stage.share_of_wall_time;
      const bar = make("i", { style: `width: ${(100 * share / longest).toFixed(1)}%` });
      return [stage.stage, count(packets(stage)), duration(stage.busy_seconds + (stage.backward_seconds || 0)),
        stage.backward_seconds > 0 ? duration(stage.backward_seconds) : "",
        make("td", { class: "bar" }, make("span", {}, bar, `${(100 * share).toFixed(0)} %`)), count(stage.queue_peak),
        ...(measured ? [mebibytes(stage.tensor_bytes_peak), mebibytes(stage.tensor_bytes_kept)] : [])];
    });
    const slowest = most(flow.stages, "share_of_wall_time");
    const largest = most(flow.stages, "tensor_bytes_in_use");
    const stall = flow.seconds > 0 ? flow.compute_idle_seconds / flow.seconds : 0;
    return [make("h3", {}, several ? runName(i) : "", several ? " · " : "", `flow ${flow.flow}: ${duration(flow.seconds)}`),
      make("p", {}, `Most of the time is spent in ${slowest.stage}: ${(100 * slowest.share_of_wall_time).toFixed(0)} % of the flow's wall time.`,
        flow.compute_idle_seconds > 0 ? ` The compute thread waited ${(100 * stall).toFixed(0)} % of it for packets.` : "",
        measured ? ` Tensors took at most ${mebibytes(largest.tensor_bytes_in_use)}, in a call of ${largest.stage}.` : ""),
      table(["stage", "packets", "time", "backward", "of wall", "queue", ...(measured ? ["memory", "kept"] : [])], rows, { numbers: [1, 2, 3, 5, 6, 7] })];
  }
  function timeParts() {
    const flows = [...new Set(runs.flatMap((run) => run.timing.map((line) => line.flow)))];
    const lines = (flow, field) => runs.map((run, i) => {
      const of = run.timing.filter((line) => line.flow === flow && isNumber(line[field]));
      return { label: lineName(i, several ? "" : flow), run: several ? i : flows.indexOf(flow), x: of.map((line) => line.epoch + 1), y: of.map((line) => line[field]) };
    }).filter((line) => line.x.length > 1);
    const drawn = flows.filter((flow) => lines(flow, "images_per_second").length > 0);
    const rates = several ? drawn.slice(0, 2).map((flow) => chart(`Images per second, ${flow}`, lines(flow, "images_per_second")))
      : drawn.length ? [chart("Images per second", drawn.flatMap((flow) => lines(flow, "images_per_second")))] : [];
    const totals = flows.map((flow) => [flow, ...runs.flatMap((run) => {
      const of = run.timing.filter((line) => line.flow === flow);
      const sum = (field) => of.reduce((total, line) => total + (line[field] || 0), 0);
      return [of.length ? duration(sum("seconds")) : "–", of.length && sum("seconds") > 0 ? count(Math.round(sum("images") / sum("seconds"))) : "–"];
    })]);
    const head = ["flow", ...runs.flatMap((run) => (several ? [`${run.label}: time`, `${run.label}: images/s`] : ["time", "images/s"]))];
    const box = flows.length ? [table(head, totals, { numbers: head.map((_, column) => column).slice(1) })] : [];
    if (rates.length) box.push(make("p"), make("div", { class: "charts" }, rates));
    runs.forEach((run, i) => {
      const ran = (run.summary && run.summary.flows) || [];
      if (ran.length === 0) return;
      const stages = make("details", several ? {} : { open: "" },
        make("summary", {}, several ? runName(i) : "", several ? ": " : "", "stage by stage, since the run was last started"),
        ...ran.filter((flow) => flow.stages && flow.stages.length).flatMap((flow) => flowTime(flow, i)));
      box.push(stages);
    });
    return box;
  }

  // --- pipeline

  function settingRows(run, wanted) {
    return run.settings.filter(wanted).map((setting) => [`${setting.table}.${setting.key}`.replace(/^stage\./, ""),
      make("code", {}, setting.value)]);
  }
  function pipelineOf(run, i) {
    const flows = run.settings.filter((setting) => setting.table === "flow");
    const box = [];
    if (several) box.push(make("h3", {}, runName(i)));
    for (const flow of flows) {
      box.push(make("p", {}, make("strong", {}, flow.key), " ", make("code", {}, flow.value.replace(/^["']|["']$/g, ""))));
    }
    const uses = (setting) => setting.table.startsWith("stage.");
    const stages = [...new Set(run.settings.filter(uses).map((setting) => setting.table))];
    const rows = stages.map((stage) => {
      const of = run.settings.filter((setting) => setting.table === stage);
      const set = of.filter((setting) => !setting.default && setting.key !== "use");
      const use = of.find((setting) => setting.key === "use");
      return [stage.replace(/^stage\./, ""), make("code", {}, use ? use.value.replace(/"/g, "") : ""),
        make("span", {}, set.flatMap((setting, at) => [at ? make("br") : "", make("code", {}, `${setting.key} = ${setting.value}`)]))];
    });
    const host = settingRows(run, (setting) => !setting.default && !uses(setting) && setting.table !== "flow");
    box.push(table(["stage", "use", "non-default settings"], rows, { kind: "settings" }));
    if (host.length) box.push(make("p"), table(["key", "value"], host, { kind: "settings" }));
    box.push(make("details", {}, make("summary", {}, "all settings, including defaults"),
      table(["key", "value"], settingRows(run, () => true), { kind: "settings" })));
    box.push(make("p", { class: "soft small" }, `Seam ${run.launch.version}, ${run.launch.compiler}`,
      run.launch.libtorch.length ? `, LibTorch ${run.launch.libtorch.join(", ")}` : "", " · ", make("code", {}, run.folder)));
    return several ? [make("details", {}, make("summary", {}, runName(i)), ...box.slice(1))] : box;
  }
  function differences() {
    if (!several) return [];
    if (data.differences.length === 0) return [make("p", {}, "The runs have the same settings, program and plugins.")];
    const rows = data.differences.map((difference) => [make("code", {}, difference.name.replace(/^stage\./, "")),
      ...difference.values.map((value) => (value === null ? make("span", { class: "soft" }, "–") : make("code", {}, value)))]);
    return [table(["key", ...runs.map((_, run) => runName(run))], rows, { kind: "settings" })];
  }

  // --- the page

  let next = 0;
  const drawn = [];
  const drawCharts = () => { for (; next < charts.length; ++next) drawn.push(charts[next]()); };
  const nav = head();
  section("recall", "Recall", recallCharts());
  section("roc", "Verification", rocCharts());
  section("differences", "What differs", differences());
  section("training", "Training", trainingCharts());
  section("neighbours", "Nearest neighbours", pictures("neighbours", neighbourSet));
  section("fed", "Input batches of the model", pictures("fed", sheetSet));
  section("duplicates", "Duplicate images", pictures("duplicates", sheetSet));
  section("reports", "Reports", reports());
  section("time", "Time", timeParts());
  section("pipeline", "Pipeline", runs.flatMap(pipelineOf));
  nav.append(...sections.map(({ id, title }) => make("a", { href: `#${id}` }, title)));
  drawCharts();
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach(paint));
})();
