// The page: what is shown now, and what every change of the problem, the plan or the view draws again.

import { Session, packedText, request, unpackedText } from "./client.js";
import { Room, applied, roomsOf } from "./document.js";
import { TextEditor, button, choice, drawFigures, drawProcedureForm, drawTools, entry, labelled, redraw } from "./forms.js";
import { Painter } from "./painter.js";
import { Bounds, Comparison, Operator, Progress, Questions, drawSummary, planName } from "./plan.js";

// Before anything can be drawn: a problem of nothing.
const NOTHING = { problem: { name: "", primary: "", greatest: false, called: {}, units: {}, constraints: [], probabilities: [], events: [], start: 0, end: 0, choices: [], activities: [] },
  sheet: { width: 8, height: 5, map: true, panels: [], floors: [] }, site: [], graph: { width: 0, height: 0, nodes: [], ways: [] }, uses: [], grids: [], reported: 0, history: [],
  plans: [{ bounds: {}, costs: {}, activities: [], choices: [], conditions: [], runs: [], influences: {}, prices: null, limit: null, own: null, outlook: null }] };
use(NOTHING);

// What is shown: a page of the server, one of its plans, and the document, which may be ahead of both.
const now = { page: NOTHING, index: 0, head: null, document: null, ahead: false, event: { event: null, target: null } };
const say = (words) => { byId("say").textContent = words; byId("status").textContent = words; };
const plan = () => now.page.plans[now.index];
const hasPlan = () => Boolean(plan()?.words?.length);

const session = new Session({
  state: takeState,
  search: takeSearch,
  plan: (head, page) => takePlan(head, page),
  // What another window or a robot did; this one knows what it did itself.
  run: (change) => { if (!operator.acting && change > operator.change) attempt(async () => { const run = await request("GET", `/sessions/${session.id}/run`); if (run.change > operator.change) operator.take(run); }); },
  words: say,
  busy: (busy) => document.body.classList.toggle("busy", busy),
  offline: (offline) => { document.body.classList.toggle("offline", offline); if (offline) say("The server does not answer; trying again."); else if (byId("status").textContent.startsWith("The server does not")) say(""); },
});

const app = {
  session, say, plan, tab: (id) => chooseTab(id),
  document: () => now.document,
  head: () => now.head ?? session.state.plans.at(-1),
  costs: () => (Array.isArray(now.document?.costs) ? now.document.costs : []),
  corners: () => Object.fromEntries(spots().map(({ room, corner }) => [room.name, corner])),
  // Shown at once, on the copy at hand; the server's answer follows.
  edit(operations, words, key = null, continues = false) {
    if (!operations.length) return Promise.resolve();
    if (editor.timer !== null || session.readsText) {
      // What was drawn belongs to a document that the text has left behind.
      editor.flush();
      say("The text has changed in the meantime; please repeat the edit.");
      drawDocument();
      return Promise.resolve();
    }
    try {
      now.document = applied(now.document, operations);
    } catch (error) {
      say(error.message);
      return Promise.resolve();
    }
    if (words) say(words);
    now.ahead = true;
    const sent = session.edit({ operations }, key, continues);
    if (!bounds.held) drawDocument(operations.some(({ path: [part] }) => part !== "constraints"));
    return sent;
  },
  chosen: () => markEvent(),
  // The rooms, or the site that has none.
  showPlace: () => chooseTab(now.page.site.length && !spots().length ? "site-panel" : "map-panel"),
  showPage(page, index) { now.head = null; showPage(page, index); },
  async showPlan(head) {
    try {
      const { head: found, page } = await request("GET", `/sessions/${session.id}/plans/${head.plan}`);
      showPage(page, page.reported, found);
      say(`Shown: ${planName(found, session.state.revision)}.`);
    } catch (error) { say(error.message); }
  },
  play(runs) { player.show({ ...plan(), runs }); chooseTab("map-panel"); },
};

const tooltip = new Tooltip(byId("tooltip"), NOTHING, () => {});
const sheet = new Sheet(byId("sheet"), NOTHING, (cell) => tooltip.show(plan(), cell));
app.sheet = sheet;
const player = new Player(sheet, byId("player"), byId("player-help"));
const painter = new Painter(sheet, {
  document: () => now.document, rooms: () => spots(), hasPlan, say,
  edit: (operations, words) => app.edit(operations, words),
  choose: (name) => { painter.name = name; drawTools(byId("draw-panel"), app, painter); painter.draw(); },
  done: () => { painter.tool = "look"; painter.cursor = null; drawTools(byId("draw-panel"), app, painter); painter.draw(); say("Look: the arrow keys move the view."); },
});
const editor = new TextEditor(byId("text"), byId("gutter"), (text) => { now.ahead = true; session.edit({ text }, "text"); });
const progress = new Progress(app), bounds = new Bounds(app);
const questions = new Questions(byId("ask-panel"), app), comparison = new Comparison(byId("compare-panel"), app), operator = new Operator(byId("run-panel"), app);

// ---- What the server says ----

function takeState(state) {
  const isNew = !now.session || now.session !== state.session, before = now.page;
  Object.assign(now, { session: state.session, document: state.document, ahead: false });
  history.replaceState(null, "", `#s=${state.session}`);
  const name = typeof state.document?.name === "string" ? state.document.name : state.name;
  byId("title").textContent = name || "Live planner";
  document.title = `${name || "Problem"}: live planner`;
  // Which edit is there, and which one is planned: for scripts that follow the page.
  document.body.dataset.revision = state.revision;
  byId("undo").disabled = !state.undo;
  byId("redo").disabled = !state.redo;
  progress.showSettings(state.settings);
  editor.show(state.text, state.errors);
  drawErrors(state.errors);
  if (isNew) {
    Object.assign(now, { page: NOTHING, index: 0, head: null });
    delete document.body.dataset.planned;
    painter.tool = "look";
    bounds.ranges.clear();
    progress.search = null;
  }
  if (state.drawing) {
    // The plan at hand stays, pale, until the next one is there; unless it is for other rooms.
    const kept = !isNew && hasPlan() && fits(before, state.drawing) ? { ...state.drawing, plans: before.plans, grids: before.grids, reported: before.reported } : null;
    setStale(kept !== null && now.head?.revision !== state.revision);
    showPage(kept ?? state.drawing, kept ? now.index : state.drawing.reported, kept ? now.head : null);
  } else if (isNew) showPage(NOTHING, 0);
  progress.take(state.search);
  drawDocument();
  comparison.draw();
  if (isNew) {
    Object.assign(operator, { run: null, change: 0 });
    if (state.drawing) app.showPlace();
  }
  const { early } = now;
  now.early = null;
  if (early && !isNew) takePlan(early.head, early.page);
  if (state.run && !operator.run) operator.take(state.run);
  else if (isNew) operator.draw();
}

// Where the search ends without a plan, the one before is no longer shown.
function takeSearch(search) {
  progress.take(search);
  const { revision, drawing } = session.state ?? {};
  if (drawing && search.revision === revision && search.own === null && ["done", "failed", "infeasible"].includes(search.status) && hasPlan()) {
    now.head = null;
    showPage(drawing, drawing.reported);
    setStale(false);
  }
}
const setStale = (stale) => document.body.classList.toggle("stale", stale);

// Whether a plan's cells can be drawn over another drawing: the same activities in rooms of the same size.
function fits(page, drawing) {
  const shapes = (each) => JSON.stringify([each.problem.activities.map(({ name }) => name), each.problem.constraints, each.sheet.panels.map(({ title, width, height, activities }) => [title, width, height, activities]), each.problem.choices.map(({ event, name }) => [event, name])]);
  return shapes(page) === shapes(drawing);
}

// Pictures are drawn in turn, with time for the browser between them: the longer one takes, the longer the pause.
let waiting = null, pause = 0, timer = null;
function takePlan(head, page) {
  waiting = { head, page };
  timer ??= setTimeout(() => requestAnimationFrame(() => {
    timer = null;
    const next = waiting, began = performance.now();
    // A plan may be there before the answer to the edit that it is for.
    if (session.state.revision < next.head.revision) { now.early = next; return; }
    if (session.state.revision > next.head.revision && now.head) return;
    setStale(next.head.revision !== session.state.revision);
    showPage(next.page, next.page.reported, next.head);
    if (next.head.complete) {
      document.body.dataset.planned = next.head.revision;
      comparison.draw();
    }
    pause = 3 * (performance.now() - began);
  }), pause);
}

// ---- What is drawn ----

function showPage(page, index, head = null) {
  const sizes = ({ sheet: { width, height } }) => `${width},${height}`, grown = sizes(page) !== sizes(now.page);
  Object.assign(now, { page, index, head: head ?? now.head });
  state.plan = index;
  for (const key of ["activity", "level", "floor", "part"]) if (grown || page.problem.activities.length !== data.problem.activities.length) state[key] = null;
  if (page.sheet.floors.length && state.floor === null) state.floor = Math.max(0, page.sheet.floors.findIndex((floor) => floor.activities.some((activity) => page.plans[index].activities[activity]?.executions > 0)));
  compose();
  if (grown) sheet.reset();
  drawViews();
  const shown = plan();
  if (shown.runs.length) player.show(shown);
  else player.host.hidden = true;
  byId("player-help").hidden = player.host.hidden;
  bounds.draw();
  drawSummary(shown);
  questions.draw();
  operator.draw();
  operator.mark();
}

// The rooms of the drawing, as the document has them now.
function compose() {
  const { page, document: file } = now, stated = new Map(roomsOf(file).map((found) => [found.name, new Room(file, found)]));
  const nameOf = (panel) => page.problem.activities[panel.activities[0]]?.room.split("/").at(-1) ?? panel.title;
  let { panels, width, height } = page.sheet;
  if (file && (now.ahead || !session.state?.valid || page === NOTHING)) {
    const seen = new Set(panels.map(nameOf));
    panels = panels.filter((panel) => !panel.grid || stated.has(nameOf(panel))).map((panel) => {
      const room = panel.grid ? stated.get(nameOf(panel)) : null;
      return room ? { ...room.panel(file, panel.corner, panel), title: panel.title, onMap: panel.onMap } : panel;
    });
    for (const [name, room] of stated) if (!seen.has(name)) panels = [...panels, room.panel(file, cornerFor(room, panels, stated, nameOf), null)];
    width = Math.max(width, ...panels.map((panel) => panel.corner[0] + panel.width));
    height = Math.max(height, ...panels.map((panel) => panel.corner[1] + panel.height));
  }
  now.spots = panels.flatMap((panel) => { const room = panel.grid ? stated.get(nameOf(panel)) : null; return room ? [{ room, corner: panel.corner }] : []; });
  use({ ...page, sheet: { ...page.sheet, panels, width, height } });
  tooltip.model = sheet.model = data;
  byId("no-map").hidden = panels.length > 0;
  byId("no-map").textContent = file ? "There is no room yet: add one under “Draw”." : "";
  sheet.drawRooms();
  sheet.show(plan(), shownOnMap());
  if (hasMap(data)) drawLegend(byId("legend"), data);
  painter.draw(faultyRooms());
}
const spots = () => now.spots ?? [];

// Where a room that the server has not drawn yet stands: by its position beside another, else to the right of all.
function cornerFor(room, panels, stated, nameOf) {
  const positionOf = (name) => { const [folder, key] = stated.get(name)?.path ?? []; return now.document[folder]?.[key]?.position; };
  const own = positionOf(room.name), known = panels.find((panel) => panel.grid && positionOf(nameOf(panel)));
  if (own && known) { const other = positionOf(nameOf(known)); return [0, 1].map((axis) => known.corner[axis] + own[axis] - other[axis]); }
  return panels.length ? [Math.max(...panels.map((panel) => panel.corner[0] + panel.width)) + 2, 0] : [0, 0];
}

function faultyRooms() {
  const paths = (session.state?.errors ?? []).map(({ keys }) => (keys ?? []).join("/"));
  return spots().filter(({ room }) => paths.some((path) => [room, ...room.users].some((each) => `${path}/`.startsWith(`${each.path.join("/")}/`)))).map(({ room }) => room.name);
}

function drawDocument(withRooms = true) {
  if (withRooms && (now.ahead || !session.state?.valid)) compose();
  drawTools(byId("draw-panel"), app, painter);
  drawProcedureForm(byId("procedure-panel"), app, now.event);
  drawFigures(byId("figures-panel"), app);
  bounds.draw();
}

function drawErrors(errors) {
  redraw(byId("errors"), errors.length ? [html("h3", {}, errors.length === 1 ? "One error" : `${errors.length} errors`), html("ul", {}, errors.slice(0, 50).map((each) => html("li", {},
    button(each.line ? `Line ${each.line}` : "Text", () => { chooseTab("text-panel"); editor.go(each.line || 1); }), ` ${each.path ? `${each.path}: ` : ""}${each.message}`)))] : []);
}

function drawViews() {
  const { floors } = data.sheet, isShown = plan();
  for (const each of [byId("floor"), byId("floor").previousElementSibling]) each.hidden = floors.length === 0;
  byId("floor").replaceChildren(...floors.map((floor, index) => html("option", { value: index }, shortened(floor.name, 30))), html("option", { value: "" }, "all"));
  byId("floor").value = state.floor ?? "";
  byId("activity").replaceChildren(html("option", { value: "" }, "all activities"), ...data.problem.activities.map((activity, index) => ({ activity, index })).filter(({ index }) => isShownActivity(index) && onFloor(index))
    .map(({ activity, index }) => html("option", { value: index }, `${shortened(activity.name)}${isShown.activities[index].executions ? ` (${times(isShown.activities[index].executions)})` : ""}`)));
  byId("activity").value = state.activity ?? "";
  byId("site-tab").hidden = data.site.length === 0;
  // What cannot be seen is drawn when its tab is chosen.
  if (!byId("graph-panel").hidden) {
    drawProcedure({ graph: byId("graph"), hint: byId("graph-hint"), choices: byId("choices") }, isShown, state.activity, { choose: chooseActivity, open: openLevel, about: aboutEvent });
    drawCrumbs(openLevel);
    markEvent();
  }
  if (!byId("site-panel").hidden) {
    drawSite(byId("levels"), data.site, data.problem.activities, isShown, chooseActivity);
    operator.mark();
  }
}

function chooseActivity(index) {
  state.activity = index;
  chooseTab("map-panel");
  sheet.show(plan(), shownOnMap());
  painter.draw();
  player.draw?.();
  drawViews();
}
function openLevel(level) {
  state.level = level;
  state.activity = null;
  drawViews();
  sheet.show(plan(), shownOnMap());
}
function aboutEvent(index) {
  const name = data.problem.events[index], known = now.document?.procedure?.events ?? {};
  if (name in known || name === now.document?.procedure?.end) {
    now.event.event = name;
    chooseTab("procedure-panel");
    drawProcedureForm(byId("procedure-panel"), app, now.event);
  }
  markEvent();
  if (hasPlan() && data.problem.choices.filter(({ event }) => event === index).length > 1) questions.why(name, name);
}
function markEvent() {
  const index = data.problem.events.indexOf(now.event.event);
  byId("graph").querySelectorAll("[data-event]").forEach((node) => node.classList.toggle("selected", Number(node.dataset.event) === index));
}

// ---- Tabs ----

const lists = [...document.querySelectorAll("[role=tablist]")];
const tabs = (list) => [...list.querySelectorAll("[role=tab]")];
function chooseTab(id) {
  for (const list of lists) {
    if (!tabs(list).some((tab) => tab.dataset.panel === id)) continue;
    for (const tab of tabs(list)) {
      const chosen = tab.dataset.panel === id;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      byId(tab.dataset.panel).hidden = !chosen;
    }
  }
  if (id === "procedure-panel") chooseTab("graph-panel");
  else if (id === "draw-panel") chooseTab("map-panel");
  else if (id === "graph-panel" || id === "site-panel") drawViews();
  document.body.classList.toggle("with-map", !byId("map-panel").hidden);
}
for (const list of lists) {
  for (const tab of tabs(list)) {
    tab.id ||= `${tab.dataset.panel}-tab`;
    tab.setAttribute("aria-controls", tab.dataset.panel);
    byId(tab.dataset.panel).setAttribute("aria-labelledby", tab.id);
    tab.addEventListener("click", () => chooseTab(tab.dataset.panel));
  }
  list.addEventListener("keydown", (event) => {
    const all = tabs(list).filter((tab) => !tab.hidden), at = all.indexOf(document.activeElement), to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    all.at(to % all.length).focus();
    all.at(to % all.length).click();
  });
}

// ---- Opening, saving, links ----

// What is wrong is said where the eyes are: in the dialog, if one is open.
const attempt = async (act) => { try { await act(); return true; } catch (error) { say(error.message); if (byId("open-error")) byId("open-error").textContent = error.message; return false; } };
const opened = (body) => attempt(async () => { await session.create(body); byId("open-dialog").close(); say("Opened."); });

const EMPTY = `format: hcssp-problem
version: 1
name: my building
costs: [time, damage]

activities:
  room 1:
    grid:
      map: |
        ############
        #..........#
        #..........#
        S..........G
        #..........#
        #..........#
        ############
      slip: 0.1

constraints:
  damage: {at_most: 2}
`;

// A mission visits places of a map, which is a file of the folder or has this content.
function stopsDialog(map, places, stops = places.slice(0, 2)) {
  const dialog = byId("open-dialog"), again = (changed) => stopsDialog(map, places, changed);
  redraw(dialog, html("h2", { id: "open-title" }, `A mission on ${map.site}`), html("p", { class: "help" }, "The robot begins at the first place and visits the others in turn."),
    html("ol", {}, stops.map((stop, at) => html("li", {}, choice(places, stop, (place) => again(stops.with(at, place)), { "aria-label": at ? `Stop ${at}` : "Start", "data-key": `stop ${at}` })))),
    html("div", { class: "row" }, button("Another stop", () => again([...stops, places.find((each) => each !== stops.at(-1))])), stops.length > 2 ? button("One stop less", () => again(stops.slice(0, -1))) : null),
    html("p", { class: "problem-words", role: "alert", id: "open-error" }), html("div", { class: "row" }, button("Begin", () => opened({ ...map, stops })), button("Back", openDialog), button("Close", () => dialog.close())));
}
const mission = (map) => attempt(async () => stopsDialog(map, (await request("POST", "/places", map)).places));

const sizeOf = ({ size }) => (Array.isArray(size) ? `${size[0].toLocaleString("en")} states` : size ?? "");
async function openDialog() {
  const dialog = byId("open-dialog"), head = html("div", { class: "head" }, html("h2", { id: "open-title" }, "Open a problem"), button("Close", () => dialog.close()));
  redraw(dialog, head, html("p", {}, "Loading…"));
  if (!dialog.open) dialog.showModal();
  await attempt(async () => {
    const { builtin, files, sites, sessions } = await request("GET", "/catalogue");
    const pick = (words, hint, act, ...more) => html("li", {}, button(words, act), html("span", { class: "help" }, ` ${hint}`), more), upload = (label, accept, act) => labelled(label, html("input", { type: "file", accept, onchange: (event) => event.target.files.length && attempt(async () => act(event.target.files[0].name, await event.target.files[0].text())) }));
    const forget = ({ session: id, name }) => button("×", () => attempt(async () => { await request("DELETE", `/sessions/${id}`); openDialog(); }), { "aria-label": `Forget ${name || id}`, title: "forget it", "data-key": `forget ${id}` });
    redraw(dialog, head, html("p", { class: "problem-words", role: "alert", id: "open-error" }),
      html("div", { class: "opening" },
        html("section", {}, html("h3", {}, "Begin"), html("ul", {}, pick("Empty sheet", "one room, to draw in", () => opened({ text: EMPTY })), pick("Commented example", "a room, stairs and a lift, for those who write", () => opened({ blank: true }))),
          upload("A problem file (YAML or JSON)", ".yaml,.yml,.json", (name, text) => opened({ text, json: name.endsWith(".json"), name: name.replace(/\.\w+$/, "") })),
          upload("A building of Open-RMF, or a route graph of Nav2", ".yaml,.geojson", (site, content) => mission({ site, content })),
          files.length + sites.length ? [html("h3", {}, "Files of the folder"), html("ul", {}, files.filter((file) => !sites.includes(file)).slice(0, 100).map((file) => pick(file, "", () => opened({ file }))), sites.slice(0, 100).map((site) => pick(site, "a map: choose a mission on it", () => mission({ site }))))] : null,
          sessions.length ? [html("h3", {}, "Go on with"), html("ul", {}, sessions.slice(0, 20).map((each) => pick(each.name || each.session, each.saved ? new Date(each.saved).toLocaleString() : "", () => attempt(async () => { await session.resume(each.session); dialog.close(); }), each.session === session.id ? null : forget(each))))] : null),
        html("section", {}, html("h3", {}, "Built-in problems"), html("ul", {}, builtin.map((each) => pick(each.name, `${each.description} · ${sizeOf(each)}`, () => opened({ builtin: each.name })))))));
    dialog.scrollTop = 0;
  });
}

function saveDialog() {
  const dialog = byId("save-dialog"), base = (byId("title").textContent || "problem").replace(/[^\w.-]+/g, "-"), isJson = session.state.json;
  const kinds = { problem: ["Problem file", `${base}.${isJson ? "json" : "yaml"}`], plan: ["Plan", `${base}.plan.json`], certificate: ["Certificate of the proof", `${base}.cert`], report: ["Report, one page", `${base}.html`] };
  const fetched = { problem: () => session.state.text, plan: () => request("GET", `/sessions/${session.id}/plans/${app.head().plan}/document`, undefined, "blob"),
    certificate: () => session.ask(`/plans/${app.head().plan}/certificate`, {}, "blob"), report: () => session.ask(`/plans/${app.head().plan}/report`, { points: 9, time_limit: 5 }, "blob") };
  const rows = Object.entries(kinds).filter(([what]) => what === "problem" || hasPlan()).map(([what, [words, file]]) => {
    const name = entry(what === "problem" ? session.state.file ?? file : file, () => {}, { size: 24, "aria-label": `File name of the ${what}`, "data-key": `name ${what}` });
    return html("div", { class: "row" }, html("strong", {}, words), name,
      button("Download", () => attempt(async () => { say("One moment…"); save(name.value.split("/").at(-1), await fetched[what](), "text/plain"); say(`${words}: downloaded.`); }), { "data-key": `download ${what}` }),
      button("Save in the folder", () => attempt(async () => { const { file: written } = await session.post("/save", { what, file: name.value, replace: replace.checked, ...(what === "problem" ? {} : { plan: app.head().plan }) }); say(`Saved as ${written}.`); }), { "data-key": `save ${what}` }));
  }), replace = html("input", { type: "checkbox" });
  redraw(dialog, html("h2", { id: "save-title" }, "Save"), rows, html("label", { class: "check" }, replace, " replace files that are there already"), html("p", { class: "help" }, "The server also saves open problems, so they are available after a restart."), button("Close", () => dialog.close()));
  dialog.showModal();
}

const LONGEST_LINK = 8000;
async function copyLink() {
  const { text } = session.state, address = text.length > 40 * LONGEST_LINK ? null : `${location.origin}${location.pathname}#p=${await packedText(text)}`;
  if (!address || address.length > LONGEST_LINK) { say("The problem is too large for a link; save its file."); return; }
  try { await navigator.clipboard.writeText(address); say("A link with the problem was copied to the clipboard."); } catch { prompt("A link with the problem:", address); }
}

// ---- Controls ----

byId("undo").addEventListener("click", () => session.command("/undo"));
byId("redo").addEventListener("click", () => session.command("/redo"));
byId("open-button").addEventListener("click", openDialog);
byId("save-button").addEventListener("click", saveDialog);
byId("link-button").addEventListener("click", copyLink);
byId("zoom-in").addEventListener("click", () => sheet.zoom(0.75));
byId("zoom-out").addEventListener("click", () => sheet.zoom(1 / 0.75));
byId("zoom-all").addEventListener("click", () => sheet.reset());
byId("activity").addEventListener("change", () => chooseActivity(byId("activity").value === "" ? null : Number(byId("activity").value)));
byId("floor").addEventListener("change", () => { state.floor = byId("floor").value === "" ? null : Number(byId("floor").value); state.activity = null; drawViews(); sheet.show(plan(), shownOnMap()); painter.draw(); });
addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.target.matches("textarea, input:not([type=radio], [type=checkbox], [type=range])")) return;
  const key = event.key.toLowerCase(), way = key === "y" || (key === "z" && event.shiftKey) ? "redo" : key === "z" ? "undo" : null;
  if (!way) return;
  event.preventDefault();
  byId(way).click();
});
// With "Look", a click on a cell, or the key "w", asks why the plan does so there; moving the view is no click.
let pressed = null;
function whyHere() {
  const { cell } = tooltip;
  if (painter.tool !== "look" || !cell || !hasPlan()) return;
  const busiest = cell.by.reduce((best, each) => (each.visits > best.visits ? each : best)), { name } = data.problem.activities[busiest.activity];
  questions.why([name, [cell.x, cell.y]], `${name}, cell (${cell.x}, ${cell.y})`);
}
byId("sheet").addEventListener("pointerdown", (event) => { pressed = [event.clientX, event.clientY]; });
byId("sheet").addEventListener("click", (event) => { if (pressed && Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) < 4) whyHere(); });
byId("sheet").addEventListener("keydown", (event) => { if (event.key === "w" && !event.ctrlKey && !event.metaKey) whyHere(); });
let width = innerWidth, resized = null;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  clearTimeout(resized);
  resized = setTimeout(() => { progress.later(); drawSummary(plan()); drawViews(); painter.draw(); }, 150);
});

for (const id of ["draw-panel", "map-panel", "summary-panel"]) chooseTab(id);

async function begin() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  if (wanted.has("p") && await attempt(async () => session.create({ text: await unpackedText(wanted.get("p")) }))) return;
  if (wanted.has("s") && await attempt(() => session.resume(wanted.get("s")))) return;
  await attempt(() => session.create({}));
  if (session.state?.blank) openDialog();
}
addEventListener("hashchange", () => { if (location.hash !== `#s=${session.id}`) begin(); });
begin();
