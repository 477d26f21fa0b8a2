// What is shown, and what the controls change: the plan along the curve, and the activity on the map.

const tooltip = new Tooltip(byId("tooltip"), data, (activity) => lightActivity(activity));
const sheet = new Sheet(byId("sheet"), data, (cell) => tooltip.show(data.plans[state.plan], cell));
const player = new Player(sheet, byId("player"), byId("player-help"));
const curveHosts = { chart: byId("curve"), caption: byId("curve-caption"), table: byId("curve-table") };
const procedureHosts = { graph: byId("graph"), hint: byId("graph-hint"), choices: byId("choices") };
const activityHosts = { table: byId("activity-table"), never: byId("never"), gallery: byId("gallery") };
const outlookHosts = { text: byId("outlook-text"), charts: byId("histograms"), table: byId("outlook-table") };
state.plan = data.reported;
const lightActivity = linkActivities(document.body, (activity) => sheet.light(activity));

function choosePlan(index) {
  state.plan = index;
  const shown = data.plans[index];
  if (state.activity !== null && !shown.activities[state.activity].executions) state.activity = null;
  sheet.point(null);
  drawBrief(index);
  drawBar();
  drawChoiceOfActivities();
  drawCrumbs(openLevel);
  byId("uses-hint").hidden = !graphShown().nodes.some((node) => node.kind === "use");
  sheet.show(shown, shownOnMap());
  player.show(shown);
  drawSensitivities();
  drawFacts(byId("activity-facts"), shown, state.activity);
  drawProcedure(procedureHosts, shown, state.activity, { choose: chooseActivity, open: openLevel });
  drawSite(byId("levels"), data.site, data.problem.activities, shown, chooseActivity);
  drawActivities(activityHosts, shown, chooseActivity);
  drawCharts();
  const address = addressOf(state.level);
  byId("link").setAttribute("href", address);
  // In the frame of a notebook there is no address to keep.
  if (index !== data.reported && location.protocol !== "about:") history.replaceState(null, "", address);
}

function drawBrief(index) {
  const plan = data.plans[index], other = index !== data.reported, name = data.varied;
  byId("other").hidden = !other;
  byId("other").textContent = other ? `This is not the reported plan but the one for ${name} at most ${amount(name, plan.bounds[name])}.${plan.finished ? "" : " Its search was not finished: a better plan may exist within the proven interval."}` : "";
  byId("words").replaceChildren(...plan.words.map((sentence) => html("p", {}, sentence)), ...(other ? [] : [html("p", {}, data.stopped)]));
  document.querySelector(".brief").classList.toggle("unfinished", !plan.finished);
  drawTiles(byId("tiles"), plan);
}

function chooseActivity(index) {
  state.activity = index;
  if (index !== null && !onFloor(index)) state.floor = data.sheet.floors.findIndex((floor) => floor.activities.includes(index));
  drawChoiceOfActivities();
  sheet.show(data.plans[state.plan], shownOnMap());
  player.draw();
  drawFacts(byId("activity-facts"), data.plans[state.plan], index);
  drawProcedure(procedureHosts, data.plans[state.plan], index, { choose: chooseActivity, open: openLevel });
  if (index !== null) byId("where").scrollIntoView({ block: "start" });
}

// The address says which procedure is open and which bound is chosen, so that links and the browser's own way back work.
function addressOf(level, plan = state.plan) {
  const parts = [];
  if (level !== null) parts.push(`in=${encodeURIComponent(data.uses[level].name)}`);
  if (data.curve && plan !== data.reported) parts.push(`bound=${encodeURIComponent(data.varied)}:${data.plans[plan].bounds[data.varied] ?? "none"}`);
  return `#${parts.join("&") || "procedure"}`;
}
function openLevel(level) {
  if (addressOf(level) === location.hash) showLevel(level);
  else location.hash = addressOf(level);
}

function followAddress() {
  const wanted = Object.fromEntries(location.hash.slice(1).split("&").map((part) => part.split("=").map(decodeURIComponent)));
  const found = data.uses.findIndex((use) => use.name === wanted.in);
  state.level = found < 0 ? null : found;
  if (!wanted.bound) return;
  const at = wanted.bound.lastIndexOf(":"), name = wanted.bound.slice(0, at), value = wanted.bound.slice(at + 1);
  const view = views.findIndex((each) => each.varied === name);
  if (view < 0) return;
  chooseView(view);
  const bounds = data.plans.map((plan) => plan.bounds[name]), far = (bound) => (bound === null ? (value === "none" ? 0 : Infinity) : Math.abs(bound - Number(value)));
  state.plan = bounds.reduce((best, bound, index) => (far(bound) < far(bounds[best]) ? index : best), data.reported);
}

function showLevel(level) {
  state.level = level;
  state.activity = null;
  shownStart = false;
  choosePlan(state.plan);
  byId("procedure").scrollIntoView({ block: "start" });
}

addEventListener("hashchange", () => {
  const before = [state.level, state.view, state.plan].join();
  // Other places on the page have addresses of their own.
  if (!/^#(in|bound)=/.test(location.hash) && location.hash !== "#procedure" && location.hash !== "") return;
  const level = state.level;
  followAddress();
  if (state.level !== level) showLevel(state.level);
  else if ([state.level, state.view, state.plan].join() !== before) choosePlan(state.plan);
});

// The figures that the plan is most sensitive to: a list, and rings on the map.
function drawSensitivities() {
  const known = data.plans[state.plan].influences, found = Object.keys(known).filter((name) => known[name].length);
  byId("sensitivities").hidden = found.length === 0;
  const select = byId("sensitivity"), chosen = found.includes(select.value) ? select.value : "";
  select.replaceChildren(html("option", { value: "" }, "nothing: hide them"), ...found.map((name) => html("option", { value: name }, shortened(called(name), 60))));
  select.value = chosen;
  const shown = chosen ? known[chosen] : [];
  byId("sensitivity-help").textContent = chosen ? `Change of the ${expectedOf(chosen)} if the figure is one percent larger.` : "";
  byId("sensitivity-list").replaceChildren(...shown.map((sensitivity) => html("li", {}, sensitivity.words)));
  sheet.sensitivities = shown;
  sheet.draw();
}

// Positions of the slider are the bounds themselves; a plan without a bound stands beyond the last one.
function positions() {
  const bounds = data.plans.map((plan) => plan.bounds[data.varied]), finite = bounds.filter((bound) => bound !== null);
  const [low, high] = finite.length ? [Math.min(...finite), Math.max(...finite)] : [0, 1];
  return bounds.map((bound) => (bound === null ? high + 0.1 * (high - low || 1) : bound));
}

function drawBar() {
  if (!data.curve) return;
  const plan = data.plans[state.plan], bound = plan.bounds[data.varied], slider = byId("bound"), at = positions();
  byId("bar").hidden = false;
  byId("bound-label").textContent = `Bound on ${data.varied}:`;
  byId("bound-value").textContent = `at most ${amount(data.varied, bound)}`;
  const [low, high] = [Math.min(...at), Math.max(...at)];
  Object.assign(slider, { min: low, max: high, step: "any", value: at[state.plan], disabled: data.plans.length < 2 });
  slider.setAttribute("aria-valuetext", `${data.varied} at most ${amount(data.varied, bound)}: expected ${primary} ${amount(primary, plan.own, figure)}`);
  byId("bar-figure").textContent = data.plans.length < 2 ? "no plan for another bound in the time given"
    : `expected ${primary} ${amount(primary, plan.own, figure)}${plan.finished ? "" : ` (search not finished: ${qualityOf(plan)})`}`;
  byId("bar-figure").classList.toggle("unfinished", !plan.finished);
  byId("back").disabled = state.plan === data.reported;
}

function drawChoiceOfActivities() {
  const plan = data.plans[state.plan], { floors } = data.sheet;
  byId("floors").hidden = floors.length === 0 || !hasMap(data);
  const tab = (floor, name) => html("button", { type: "button", "aria-pressed": String(state.floor === floor), onclick: () => chooseFloor(floor) }, name);
  byId("floors").replaceChildren(...floors.map((floor, index) => tab(index, shortened(floor.name, 30))), tab(null, "all"));
  byId("activity").replaceChildren(html("option", { value: "" }, state.level !== null ? `all of ${data.uses[state.level].name}` : data.sheet.map ? "the whole map" : "all activities"),
    ...data.problem.activities.map((activity, index) => ({ activity, index })).filter(({ index }) => isShownActivity(index) && onFloor(index) && plan.activities[index].executions > 0)
      .map(({ activity, index }) => html("option", { value: index }, `${activity.name} (${times(plan.activities[index].executions)})`)));
  byId("activity").value = state.activity === null ? "" : state.activity;
  const parts = partsOf(plan);
  if (!parts.includes(state.part)) state.part = null;
  for (const element of [byId("part"), byId("part").previousElementSibling]) element.hidden = parts.length < 2;
  byId("part").replaceChildren(html("option", { value: "all" }, "all layers together"), ...parts.map((part, index) => html("option", { value: index }, part || "nothing else is said")));
  byId("part").value = state.part === null ? "all" : parts.indexOf(state.part);
}

// What the names of states say beside their cells, over the activities that are shown.
function partsOf(plan) {
  const { only, activities } = shownOnMap();
  return [...new Set((only === null ? activities : [only]).flatMap((index) => (plan.activities[index].pieces ?? []).map((piece) => piece.part)))];
}

function chooseFloor(floor) {
  state.floor = floor;
  state.activity = null;
  chooseActivity(null);
}

function chooseView(view) {
  state.view = view;
  Object.assign(data, views[view]);
  state.plan = data.reported;
  byId("view").value = view;
  describe();
}

function describe() {
  byId("films").hidden = !data.films.lagrangians && !data.films.allocation;
  byId("gap-film").hidden = !data.films.lagrangians;
  byId("space-film").hidden = !data.films.allocation;
  const grids = hasMap(data);
  byId("where-text").textContent = grids
    ? `${data.sheet.map ? "The rooms at their positions." : "Every activity separately: the problem does not state the positions of its rooms."} `
      + "Arrows are the actions of the plan; cells with stronger shading and larger arrows are visited more often. "
      + (data.sheet.panels.some((panel) => panel.activities.length > 1) ? "If several activities use a cell, their visits are added, and the arrow is that of the most frequent one." : "")
      + (data.plans[data.reported].randomised ? " The plan is randomised: an arrow is the likeliest heading, and a cell says the probabilities." : "")
    : `${data.site.length ? "The site is above. " : ""}The activities of this problem have no map; their busiest states are listed below.`;
  byId("where").classList.toggle("without-map", !grids);
  document.querySelectorAll(".map-only").forEach((element) => { element.hidden = !grids; });
  byId("save-map").hidden = !grids;
  document.querySelector(".map-bar").hidden = byId("drawer").hidden = !grids && data.plans[data.reported].runs.length === 0;
  const several = data.plans.length > 1;
  byId("trade-off").hidden = !data.curve || !several;
  byId("compare").hidden = !several;
  byId("site").hidden = data.site.length === 0;
  if (several) {
    const options = () => data.plans.map((plan, index) => html("option", { value: index }, planTitle(plan, index)));
    byId("first").replaceChildren(...options());
    byId("second").replaceChildren(...options());
    byId("first").value = data.reported;
    byId("second").value = data.reported + 1 < data.plans.length ? data.reported + 1 : data.reported - 1;
    compare();
  }
  if (data.curve) {
    byId("trade-off-title").textContent = `Plans for other bounds on ${data.varied}`;
    byId("trade-off-text").textContent = `The smaller the bound on ${data.varied}, the ${greatest ? "lower" : "higher"} the expected ${primary}.`;
    byId("bounds").replaceChildren(...positions().map((value) => html("option", { value })));
  }
}

const planTitle = (plan, index) => `${data.varied} at most ${amount(data.varied, plan.bounds[data.varied])}${index === data.reported ? " (reported)" : ""}${plan.finished ? "" : " (search not finished)"}`;
function compare() {
  drawComparison({ table: byId("compare-table"), maps: byId("compare-maps") }, data, data.plans, [Number(byId("first").value), Number(byId("second").value)], planTitle);
}

// One view for each bound that is varied; the first is that of the scarcest.
const views = data.views.map((view, index) => (index ? view : { varied: data.varied, curve: data.curve, plans: data.plans, reported: data.reported }));
byId("view").replaceChildren(...views.map((view, index) => html("option", { value: index }, shortened(view.varied ?? "", 60))));
byId("view").addEventListener("change", () => { chooseView(Number(byId("view").value)); choosePlan(state.plan); });
const nearest = (value) => positions().reduce((best, at, index, all) => (Math.abs(at - value) < Math.abs(all[best] - value) ? index : best), 0);
byId("bound").addEventListener("input", () => choosePlan(nearest(Number(byId("bound").value))));
byId("bound").addEventListener("keydown", (event) => {
  const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -Infinity, End: Infinity }[event.key];
  if (!way) return;
  event.preventDefault();
  choosePlan(Math.max(0, Math.min(data.plans.length - 1, state.plan + way)));
});
byId("back").addEventListener("click", () => choosePlan(data.reported));
byId("first").addEventListener("change", compare);
byId("second").addEventListener("change", compare);
byId("activity").addEventListener("change", () => {
  chooseActivity(byId("activity").value === "" ? null : Number(byId("activity").value));
});
byId("part").addEventListener("change", () => {
  state.part = byId("part").value === "all" ? null : partsOf(data.plans[state.plan])[Number(byId("part").value)];
  sheet.show(data.plans[state.plan], shownOnMap());
});
byId("zoom-in").addEventListener("click", () => sheet.zoom(0.75));
byId("zoom-out").addEventListener("click", () => sheet.zoom(1 / 0.75));
byId("zoom-all").addEventListener("click", () => sheet.reset());
byId("sensitivity").addEventListener("change", drawSensitivities);
byId("rare").addEventListener("change", () => { sheet.rare = byId("rare").checked; sheet.draw(); });
addEventListener("scroll", () => sheet.point(null), { passive: true });

const fileName = (ending) => `${data.problem.name.replace(/[^\w.-]+/g, "-")}${ending}`;
byId("save-plan").addEventListener("click", () => unpack(data.plans[state.plan]).then(({ document: plan }) => save(fileName(".plan.json"), JSON.stringify(plan, null, 1) + "\n", "application/json")));
byId("save-table").addEventListener("click", () => save(fileName(".activities.csv"), csvOf(byId("activity-table").querySelector("table")), "text/csv"));
byId("save-map").addEventListener("click", () => pngOf(byId("sheet")).then((picture) => save(fileName(".map.png"), picture)));
byId("exports").hidden = false;
byId("parameter-table").replaceChildren(table(["parameter", { text: true, content: "value" }], data.parameters.map(([name, value]) => [name, { text: true, content: value }])));

if (data.sheet.floors.length) state.floor = Math.max(0, data.sheet.floors.findIndex((floor) => floor.activities.some((index) => data.plans[data.reported].activities[index].executions > 0)));
describe();
if (hasMap(data)) drawLegend(byId("legend"), data);

// The legend stands in the corner where it hides least of the map, and is closed on a narrow screen.
function placeLegend() {
  const box = byId("legend-box"), { width, height } = box.getBoundingClientRect(), frame = byId("sheet").getBoundingClientRect(), matrix = byId("sheet").getScreenCTM();
  if (!matrix || !frame.width) return;
  const rooms = sheet.panels().map(({ corner: [x, y], width: w, height: h }) => ({ left: matrix.a * x + matrix.e - frame.left, top: matrix.d * y + matrix.f - frame.top, right: matrix.a * (x + w) + matrix.e - frame.left, bottom: matrix.d * (y + h) + matrix.f - frame.top }));
  const corners = [[1, 1], [1, 0], [0, 1], [0, 0]].map(([right, bottom]) => {
    const left = right ? frame.width - width - 10 : 10, top = bottom ? frame.height - height - 10 : 10;
    const hidden = rooms.reduce((sum, room) => sum + Math.max(0, Math.min(room.right, left + width) - Math.max(room.left, left)) * Math.max(0, Math.min(room.bottom, top + height) - Math.max(room.top, top)), 0);
    return { right, bottom, hidden };
  });
  const best = corners.reduce((one, other) => (other.hidden < one.hidden ? other : one));
  Object.assign(box.style, { left: best.right ? "auto" : ".6rem", right: best.right ? ".6rem" : "auto", top: best.bottom ? "auto" : ".6rem", bottom: best.bottom ? ".6rem" : "auto" });
}
byId("legend-box").open = innerWidth > 700;
byId("proof").hidden = !data.history.some((point) => point[1] !== null || point[2] !== null);
byId("proof-text").textContent = data.stopped;
drawProof();
followAddress();
choosePlan(state.plan);
placeLegend();

// What is drawn for the width that it has.
function drawCharts() {
  const plan = data.plans[state.plan];
  if (data.curve) drawCurve(curveHosts, state.plan, choosePlan);
  byId("budget").hidden = data.problem.constraints.length === 0;
  drawBudgets(byId("budgets"), plan);
  byId("outlook").hidden = !plan.outlook;
  if (plan.outlook) drawOutlook(outlookHosts, plan);
}
function drawProof() {
  drawHistory({ chart: byId("history"), caption: byId("history-caption") }, data.history, data.historyWord);
}
const films = [];
if (data.films.lagrangians) films.push(gapFilm(byId("gap-host"), data.films.lagrangians));
if (data.films.allocation) films.push(spaceFilm(byId("space-host"), data.films.allocation));
function redraw() {
  drawCharts();
  drawProof();
  films.forEach((draw) => draw());
}
let width = innerWidth, waiting = null;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(redraw, 120);
});
addEventListener("beforeprint", () => {
  printing = true;
  player.pause();
  sheet.reset();
  redraw();
});
addEventListener("afterprint", () => {
  printing = false;
  redraw();
});
