// A comparison: whether values agree, ratios of times, the gap over time, and growth with size.

const DASHES = ["", "6 3", "2 3", "8 3 2 3", "1 4", "10 4", "4 2 1 2", "3 6", "1 2"];
const styleOf = new Map(data.solvers.map((each, at) => [each.name, at % DASHES.length]));
const seconds = (value) => (value === null ? "–" : value < 0.001 ? "< 1 ms" : `${Number(value.toPrecision(2))} s`);
const state = { instance: 0 };

function key(name) {
  const at = styleOf.get(name);
  return html("li", {}, svg("svg", { viewBox: "0 0 48 16", "aria-hidden": "true" },
    svg("line", { class: `series s${at}`, x1: 0, x2: 48, y1: 8, y2: 8, "stroke-dasharray": DASHES[at] }), mark(at, 24, 8)), ` ${name}`);
}

// Solvers differ in shape as well as in colour.
function mark(at, x, y, size = 4.5) {
  const shapes = [() => svg("circle", { cx: x, cy: y, r: size }), () => svg("rect", { x: x - size, y: y - size, width: 2 * size, height: 2 * size }),
    () => svg("path", { d: `M${x} ${y - size - 1}L${x + size + 1} ${y + size}H${x - size - 1}Z` }), () => svg("path", { d: `M${x} ${y - size - 1}L${x + size + 1} ${y}L${x} ${y + size + 1}L${x - size - 1} ${y}Z` })];
  const shape = shapes[at % 4]();
  shape.setAttribute("class", `dot s${at}`);
  return shape;
}

function drawAgreement() {
  const found = data.disagreements;
  byId("agreement-text").replaceChildren(found.length
    ? html("div", { class: "bad" }, html("p", {}, html("strong", {}, `✗ ${found.length} ${found.length === 1 ? "disagreement" : "disagreements"}:`)), html("ul", {}, found.map((each) => html("li", {}, each))))
    : html("p", {}, "✓ All values agree: no lower bound is above the plan of another, and all randomised optima agree within the precision of each solver."));
}

function drawRatios() {
  const [head, ...rows] = data.ratios;
  byId("ratio-table").replaceChildren(table(head, rows));
}

function drawProblem() {
  const instance = data.instances[state.instance];
  const drawn = instance.runs.filter((run) => run.trace.some((point) => point[2] !== null) && data.solvers.find((each) => each.name === run.solver).deterministic);
  const limit = Math.max(...instance.runs.map((run) => run.limit));
  const gapAt = (upper) => (upper === null ? 100 : Math.min(100, Math.max(0, (100 * (upper - instance.best)) / Math.max(Math.abs(upper), 1e-9))));
  // Short times matter as much as long ones.
  const least = Math.min(0.01, ...drawn.map((run) => run.trace[0][0]).filter((value) => value > 0));
  const log = (value) => Math.log10(Math.min(limit, Math.max(value, least)));
  const x = [log(least), log(limit)];
  const xTicks = [];
  for (let power = Math.ceil(x[0]); power <= x[1]; power++) xTicks.push(power);
  // Gaps from one in a million to everything.
  const depth = (gap) => Math.log10(Math.max(gap, 1e-4));
  const { picture, px, py } = frame(byId("gap"), { height: 300, x, y: [-4.2, 2.1], xTicks, yTicks: [-4, -3, -2, -1, 0, 1, 2],
    xText: (tick) => `${10 ** tick} s`.replace("1e-", "10^-"), yText: (tick) => (tick === -4 ? "0%" : `${10 ** tick}%`), xTitle: "seconds", yTitle: "above the best known plan" });
  picture.setAttribute("aria-label", `How far the best plans so far are above the best known one over time, for ${instance.name}.`);
  for (const run of drawn) {
    const at = styleOf.get(run.solver), line = [];
    let last = null;
    for (const [time, , upper] of run.trace) {
      if (upper === null) continue;
      if (last !== null) line.push([px(log(time)), last]);
      last = py(depth(gapAt(upper)));
      line.push([px(log(time)), last]);
    }
    line.push([px(log(Math.max(run.seconds, run.trace[run.trace.length - 1][0]))), last]);
    picture.append(svg("path", { class: `series s${at}`, "stroke-dasharray": DASHES[at], d: polyline(line) }), mark(at, ...line[0]), mark(at, ...line[line.length - 1]));
  }
  byId("gap-caption").textContent = drawn.length ? "A line begins at the first plan and ends with the run; the lower, the better. The lowest line of the picture is a gap of 0." : "No solver reported plans before its end.";
  byId("gap-keys").replaceChildren(...drawn.map((run) => key(run.solver)));
  const rows = instance.runs.map((run) => [run.solver, { text: true, content: run.status }, roundedDown(run.lower), run.upper === null ? "–" : roundedUp(run.upper), figure(run.randomised, 6), seconds(run.first), seconds(run.answered), seconds(run.cpu),
    run.integral === null ? "–" : percent(run.integral), { text: true, content: shortened(run.note, 160) }]);
  byId("runs").replaceChildren(table(["solver", { text: true, content: "says" }, "not below", "plan", "randomised", "first plan", "answered", "CPU", "primal integral", { text: true, content: "note" }], rows));
}

function drawSpread() {
  const problems = Object.keys(data.gaps);
  byId("repeated").hidden = problems.length === 0;
  byId("ratios").hidden = problems.length > 0;
  if (!problems.length) return;
  const chosen = state.repeated ?? problems[0], curves = data.gaps[chosen];
  const [head, ...rows] = data.spread[chosen];
  byId("spread-table").replaceChildren(table(head, rows));
  const depth = (gap) => Math.log10(Math.min(100, Math.max(100 * gap, 1e-4)));
  const times = Object.values(curves)[0].map(([time]) => Math.log10(time)), xTicks = [];
  for (let power = Math.ceil(times[0] - 1e-9); power <= times[times.length - 1]; power++) xTicks.push(power);
  const { picture, px, py } = frame(byId("spread"), { height: 320, x: [times[0], times[times.length - 1]], y: [-4.1, 2.1], xTicks, yTicks: [-4, -3, -2, -1, 0, 1, 2],
    xText: (tick) => `${10 ** tick} s`, yText: (tick) => `${10 ** tick}%`, xTitle: "seconds", yTitle: "proven gap" });
  picture.setAttribute("aria-label", `The median gap over time, and its quartiles, for ${chosen}.`);
  for (const [solver, curve] of Object.entries(curves)) {
    const at = styleOf.get(solver), along = (column) => curve.map((point, step) => [px(times[step]), py(depth(point[column]))]);
    picture.append(svg("path", { class: `band s${at}`, d: `${polyline([...along(1), ...along(3).reverse()])}Z` }),
      svg("path", { class: `series s${at}`, "stroke-dasharray": DASHES[at], d: polyline(along(2)) }), mark(at, ...along(2)[curve.length - 1 - 4 * at]));
  }
  byId("spread-keys").replaceChildren(...Object.keys(curves).map(key));
}

function drawTotals() {
  const rows = data.solvers.map(({ name }) => {
    const runs = data.instances.flatMap((instance) => instance.runs.filter((run) => run.solver === name));
    const ran = runs.filter((run) => !["missing", "unsupported"].includes(run.status));
    const mean = (values) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : null);
    const integral = mean(ran.map((run) => run.integral).filter((value) => value !== null));
    return [name, `${ran.length} of ${runs.length}`, String(ran.filter((run) => run.answered !== null).length), String(ran.filter((run) => run.upper !== null).length),
      integral === null ? "–" : percent(integral), seconds(ran.reduce((sum, run) => sum + run.cpu, 0))];
  });
  byId("totals").replaceChildren(table(["solver", "problems taken", "answered in time", "deterministic plans", "mean primal integral", "CPU in all"], rows));
  byId("who").replaceChildren(table(["solver", { text: true, content: "what it does" }], data.solvers.map((each) => [each.name, { text: true, content: each.description }])));
}

function drawGrowth() {
  const dots = data.instances.flatMap((instance) => instance.runs.filter((run) => run.answered !== null && instance.states > 0).map((run) => ({ run, instance, x: Math.log10(instance.states), y: Math.log10(Math.max(run.answered, 1e-4)) })));
  byId("growth").hidden = dots.length === 0;
  if (!dots.length) return;
  const range = (values) => [Math.min(...values) - 0.2, Math.max(...values) + 0.2];
  const whole = ([low, high]) => Array.from({ length: Math.floor(high) - Math.ceil(low) + 1 }, (_, at) => Math.ceil(low) + at);
  const x = range(dots.map((dot) => dot.x)), y = range(dots.map((dot) => dot.y));
  const { picture, px, py } = frame(byId("growth-chart"), { height: 380, x, y, xTicks: whole(x), yTicks: whole(y), xText: (tick) => (10 ** tick).toLocaleString("en"), yText: (tick) => `${10 ** tick} s`, xTitle: "states", yTitle: "seconds" });
  picture.setAttribute("aria-label", "Seconds over states for every solver; the tables have the figures.");
  // Small and large problems of one kind are joined, so that each line shows one growth.
  const kinds = new Map();
  for (const dot of dots) {
    const kind = `${dot.run.solver}\n${dot.instance.domain}`;
    kinds.set(kind, [...(kinds.get(kind) ?? []), dot]);
  }
  for (const joined of kinds.values()) {
    // Of several problems of one size, the median.
    const sizes = [...new Set(joined.map((dot) => dot.x))].sort((a, b) => a - b);
    if (sizes.length < 2) continue;
    const at = styleOf.get(joined[0].run.solver), median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
    const line = sizes.map((size) => [px(size), py(median(joined.filter((dot) => dot.x === size).map((dot) => dot.y)))]);
    picture.append(svg("path", { class: `series thin s${at}`, "stroke-dasharray": DASHES[at], d: polyline(line) }));
  }
  for (const { run, instance, x: across, y: up } of dots) {
    const shape = mark(styleOf.get(run.solver), px(across), py(up));
    shape.append(svg("title", {}, `${run.solver}, ${instance.name}: ${seconds(run.answered)}`));
    picture.append(shape);
  }
  byId("growth-keys").replaceChildren(...[...new Set(dots.map((dot) => dot.run.solver))].map(key));
}

byId("problem").replaceChildren(...data.instances.map((instance, at) => html("option", { value: at }, `${instance.name} · ${instance.states.toLocaleString("en")} states`)));
byId("problem").addEventListener("change", () => { state.instance = Number(byId("problem").value); drawProblem(); });
byId("setting").replaceChildren(...Object.keys(data.gaps).map((name) => html("option", {}, name)));
byId("setting").addEventListener("change", () => { state.repeated = byId("setting").value; drawSpread(); });
drawAgreement();
drawRatios();
drawTotals();
function drawCharts() { drawSpread(); drawProblem(); drawGrowth(); }
drawCharts();

let wide = innerWidth, waiting = null;
addEventListener("resize", () => {
  if (innerWidth === wide) return;
  wide = innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(drawCharts, 120);
});
addEventListener("beforeprint", () => { printing = true; drawCharts(); });
addEventListener("afterprint", () => { printing = false; drawCharts(); });
