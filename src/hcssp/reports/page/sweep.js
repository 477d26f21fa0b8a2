// A sweep: sliders choose a combination; tiles, maps, lines and the table show it among the others.

const axes = data.axes, varied = axes.map((_, at) => at).filter((at) => axes[at].values.length > 1);
const keyOf = (places) => places.join(",");
const points = new Map(data.points.map((point) => [keyOf(point.at), point]));
const { judged } = data.problem;
// What is proven lies between the plan that was found and what no plan betters.
const lowEnd = (point) => roundedDown(greatest ? point.own : point.limit), highEnd = (point) => roundedUp(greatest ? point.limit : point.own);
const state = { at: (data.points[0] ?? { at: axes.map(() => 0) }).at.slice(), across: varied[0], down: varied[1] };
// A value on an axis; a bound on a probability is a percentage.
const shownOn = (axis, value) => (value === null ? "no bound" : axis.bound ? amount(axis.name, value) : given(value));
const pointAt = (places) => points.get(keyOf(places));
const moved = (axis, place) => state.at.map((each, at) => (at === axis ? place : each));

// The bound on a constraint there; undefined where it does not vary.
function boundOn(name, places) {
  const axis = axes.findIndex((each) => each.bound && each.name === name);
  return axis < 0 ? undefined : axes[axis].values[places[axis]];
}

// What the plan of a point has of a constraint, with digits enough to differ from its bound.
const spent = (name, point, bound) => (isChance(name) ? amount(name, point.costs[name] ?? null, figure) : beside(point.costs[name] ?? null, bound ?? null));

function choose(places) {
  state.at = places.slice();
  draw();
}

function makeSliders() {
  byId("sliders").hidden = varied.length === 0;
  byId("sliders").replaceChildren(...varied.map((at) => {
    const slider = html("input", { type: "range", id: `axis-${at}`, min: 0, max: axes[at].values.length - 1, step: 1 });
    slider.addEventListener("input", () => choose(moved(at, Number(slider.value))));
    return html("div", { class: "slider" }, html("label", { for: `axis-${at}` }, `${capital(shortened(axes[at].label))}: `,
      html("output", { id: `value-${at}`, for: `axis-${at}` })), slider);
  }));
}

function drawSliders() {
  for (const at of varied) {
    const value = axes[at].values[state.at[at]];
    byId(`axis-${at}`).value = state.at[at];
    byId(`axis-${at}`).setAttribute("aria-valuetext", `${axes[at].label} ${shownOn(axes[at], value)}`);
    byId(`value-${at}`).textContent = shownOn(axes[at], value);
  }
}

function drawBrief() {
  const point = pointAt(state.at);
  const where = axes.map((axis, at) => `${axis.label} ${shownOn(axis, axis.values[state.at[at]])}`).join(", ");
  const tile = (title, value, small) => html("div", {}, html("dt", {}, title), html("dd", {}, value, html("small", {}, small)));
  if (!point || point.own === null) {
    byId("words").replaceChildren(html("p", {}, `${where ? capital(where) + ": " : ""}${!point ? "not solved." : point.status === "claimed" ? "no plan, as a results file claims." : "no plan."}`), html("p", {}, point ? point.message : ""));
    byId("tiles").replaceChildren();
    return;
  }
  const gap = gapOf(point), best = gap !== null && gap <= OPTIMAL;
  byId("words").replaceChildren(html("p", {}, `${where ? capital(where) + ": e" : "E"}xpected ${judged} ${figure(point.own)}.`));
  byId("tiles").replaceChildren(
    tile(`Expected ${judged}`, figure(point.own), "of the plan that was found"),
    ...data.problem.constraints.map((name) => {
      const bound = boundOn(name, state.at);
      const price = point.prices[name];
      const worth = price === undefined || price === null ? "" : price === 0 ? `; more would ${greatest ? "gain" : "save"} nothing` : isChance(name) ? `; one percent more is worth ${figure(price / 100, 3)}` : `; a unit more is worth ${figure(price, 3)}`;
      return tile(capital(expectedOf(name)), spent(name, point, bound), (bound === undefined ? "bound as in the problem" : bound === null ? "no bound" : `of the ${amount(name, bound)} allowed`) + worth);
    }),
    tile(point.status === "claimed" ? "Claimed interval" : "Proven interval", point.limit === null ? "unknown" : html("span", { class: "interval" }, html("span", {}, `${lowEnd(point)} –`), " ", html("span", {}, highEnd(point))), `contains the best plan's ${greatest ? "reward" : "cost"}`),
    point.status === "claimed" ? tile("Quality", best ? "optimal" : gap === null ? "unknown" : `within ${percent(gap)}`, "claimed by a results file, not checked")
      : tile("Quality", best ? "✓ optimal" : gap === null ? "unknown" : `within ${percent(gap)}`, best ? "proven, to one part in a million" : "of the best plan, proven"));
}

// Every cell has its figure; the shade only helps.
function drawHeat() {
  byId("map").hidden = varied.length < 2;
  if (varied.length < 2) return;
  const across = axes[state.across], down = axes[state.down];
  const cells = [];
  down.values.forEach((_, row) => across.values.forEach((__, column) => {
    const places = state.at.map((each, at) => (at === state.across ? column : at === state.down ? row : each));
    cells.push({ row, column, places, point: pointAt(places) });
  }));
  const values = cells.map((cell) => cell.point && cell.point.own).filter((value) => typeof value === "number");
  const low = Math.min(...values), high = Math.max(...values);
  const wide = Math.max(64, Math.min(110, Math.floor((widthOf(byId("heat"), 960) - 90) / across.values.length))), tall = 34, left = 84, top = 24;
  const width = left + wide * across.values.length + 6, height = top + tall * down.values.length + 40;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `Expected ${judged} over ${across.label} and ${down.label}; the table has the figures.` });
  picture.append(svg("text", { x: 2, y: 14 }, shortened(down.label, 30)), svg("text", { x: width - 6, y: height - 6, "text-anchor": "end" }, shortened(across.label, 40)));
  for (const { row, column, places, point } of cells) {
    const x = left + column * wide, y = top + (down.values.length - 1 - row) * tall;
    const known = point && point.own !== null, chosen = keyOf(places) === keyOf(state.at);
    const heat = known ? Math.min(4, Math.floor((5 * (point.own - low)) / (high - low || 1))) : 0;
    picture.append(svg("rect", { class: known ? `heat-${heat}` : "unknown", x: x + 1, y: y + 1, width: wide - 2, height: tall - 2, onclick: () => choose(places), style: "cursor: pointer" },
      svg("title", {}, `${across.label} ${shownOn(across, across.values[column])}, ${down.label} ${shownOn(down, down.values[row])}`)),
    svg("text", { class: heat > 3 ? "on-heat" : "in-cell", x: x + wide / 2, y: y + tall / 2 + 4, "text-anchor": "middle" }, known ? figure(point.own, 2) : point ? "no plan" : "–"));
    if (chosen) picture.append(svg("rect", { class: "chosen-cell", x: x + 2.5, y: y + 2.5, width: wide - 5, height: tall - 5 }));
  }
  down.values.forEach((value, row) => picture.append(svg("text", { class: "faint", x: left - 8, y: top + (down.values.length - row - 0.5) * tall + 4, "text-anchor": "end" }, shownOn(down, value))));
  across.values.forEach((value, column) => picture.append(svg("text", { class: "faint", x: left + (column + 0.5) * wide, y: top + tall * down.values.length + 16, "text-anchor": "middle" }, shownOn(across, value))));
  byId("heat").replaceChildren(picture);
  byId("map-text").textContent = `Expected ${judged} of the plans found; the frame is the combination that is shown. Choose a cell to see another one.`;
}

function drawLines() {
  byId("lines").hidden = varied.length === 0;
  byId("lines-text").textContent = "All other values are those of the sliders. Circles are the plans found; the filled circle is the combination that is shown. Whiskers end at the proven bound.";
  byId("charts").replaceChildren(...varied.map(() => html("figure", {}, html("div", { class: "chart" }))));
  varied.forEach((axis, number) => {
    const host = byId("charts").children[number].children[0];
    const along = axes[axis].values.map((value, place) => ({ value, place, point: pointAt(moved(axis, place)) })).filter((each) => each.point && each.point.own !== null);
    const finite = along.map((each) => each.value).filter((value) => value !== null);
    if (!along.length) { host.replaceChildren(html("p", {}, `No plan for any ${axes[axis].label}.`)); return; }
    const first = Math.min(...finite, Infinity) === Infinity ? 0 : Math.min(...finite), last = finite.length ? Math.max(...finite) : 1;
    // What has no bound stands beyond the last one.
    const edge = last + 0.12 * (last - first || 1), place = (value) => (value === null ? edge : value);
    const uppers = along.map((each) => each.point.own), low = Math.min(...uppers), high = Math.max(...uppers), room = 0.08 * (high - low || Math.abs(high) || 1);
    const right = along.some((each) => each.value === null) ? edge : last;
    const margin = 0.04 * (right - first || 1);
    const { picture, px, py, box } = frame(host, { height: 260, most: 560, x: [first - margin, right + margin], y: [low - room, high + room], xTitle: axes[axis].label, yTitle: `expected ${judged}` });
    picture.setAttribute("aria-label", `Expected ${judged} over ${axes[axis].label}; the table has the figures.`);
    picture.append(svg("path", { class: "line", d: polyline(along.map((each) => [px(place(each.value)), py(each.point.own)])) }));
    for (const each of along) {
      const x = px(place(each.value)), current = each.place === state.at[axis];
      if (each.point.limit !== null && gapOf(each.point) > OPTIMAL) picture.append(svg("path", { class: "mean", d: `M${x} ${Math.max(box.top, Math.min(py(each.point.limit), box.bottom))}V${py(each.point.own)}` }));
      picture.append(svg("circle", { class: current ? "point current" : "point", cx: x, cy: py(each.point.own), r: current ? 7 : 5, onclick: () => choose(moved(axis, each.place)) },
        svg("title", {}, `${axes[axis].label} ${shownOn(axes[axis], each.value)}: ${figure(each.point.own)}`)));
    }
  });
}

function drawTable() {
  const rows = data.points.map((point) => {
    const cells = axes.map((axis, at) => shownOn(axis, axis.values[point.at[at]]));
    const gap = gapOf(point);
    const first = html("button", { type: "button", title: "show this combination", onclick: () => { choose(point.at); byId("brief").scrollIntoView(); } }, cells[0] ?? "as stated");
    const row = [first, ...cells.slice(1), greatest ? roundedUp(point.limit) : roundedDown(point.limit), point.own === null ? "no plan" : greatest ? lowEnd(point) : highEnd(point), gap === null ? "–" : (point.status === "claimed" ? "claimed: " : "") + (gap <= OPTIMAL ? "optimal" : percent(gap)),
      ...data.problem.constraints.map((name) => spent(name, point, boundOn(name, point.at)))];
    row.className = keyOf(point.at) === keyOf(state.at) ? "current" : null;
    return row;
  });
  byId("table").replaceChildren(table([...(axes.length ? axes.map((axis) => shortened(axis.label)) : ["combination"]), `${shortened(judged)}: not ${greatest ? "above" : "below"}`, "the plan", "gap",
    ...data.problem.constraints.map((name) => shortened(expectedOf(name)))], rows));
}

function draw() {
  drawSliders();
  drawBrief();
  drawHeat();
  drawLines();
  drawTable();
}

makeSliders();
for (const [id, which] of [["across", "across"], ["down", "down"]]) {
  byId(id).replaceChildren(...varied.map((at) => html("option", { value: at }, shortened(axes[at].label))));
  byId(id).value = state[which];
  byId(id).addEventListener("change", () => {
    const other = which === "across" ? "down" : "across", wanted = Number(byId(id).value);
    if (state[other] === wanted) { state[other] = state[which]; byId(other).value = state[other]; }
    state[which] = wanted;
    drawHeat();
  });
}
byId("pair").hidden = varied.length < 3;
draw();

let wide = innerWidth, waiting = null;
addEventListener("resize", () => {
  if (innerWidth === wide) return;
  wide = innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(draw, 120);
});
addEventListener("beforeprint", () => { printing = true; draw(); });
addEventListener("afterprint", () => { printing = false; draw(); });
