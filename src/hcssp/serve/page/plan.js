// What is known of the plan: the search as it goes on, the bounds to drag, questions, comparisons, and a run of it.

import { certain, chancesOf, evaluated, parametersOf } from "./document.js";
import { request } from "./client.js";
import { button, choice, entry, labelled, redraw } from "./forms.js";

const term = (name, value) => [html("dt", {}, name), html("dd", {}, value)];
const facts = (pairs) => html("dl", { class: "facts" }, pairs.map(([name, value]) => term(name, value)));
const interval = (search) => (search.limit === null || search.own === null ? null : `${roundedDown(Math.min(search.limit, search.own))} – ${roundedUp(Math.max(search.limit, search.own))}`);
export const gapWords = (gap) => (gap === null || gap === undefined ? "nothing proven yet" : gap <= OPTIMAL ? "optimal" : `within ${percent(gap)}`);
export const planName = (head, now) => `plan ${head.plan}${head.revision === now ? "" : ` (edit ${head.revision})`}: ${head.own === null ? "–" : figure(head.own, 3)}`;

// ---- The search ----

const isOvertaken = (search, by) => search.status === "searching" && search.revision === by?.revision && search.plan === by.plan
  && (by.status !== "searching" || search.seconds < by.seconds);

export class Progress {
  constructor(app) {
    Object.assign(this, { app, series: [], search: null, drawn: 0, waiting: null });
    const { session } = app, settings = (changed) => session.post("/settings", changed).then((state) => session.take(state), (error) => app.say(error.message));
    byId("search").addEventListener("click", () => session.post("/search", { action: this.search?.status === "searching" ? "stop" : "start" }).catch((error) => app.say(error.message)));
    byId("automatic").addEventListener("change", () => settings({ automatic: byId("automatic").checked }));
    for (const [id, key, least] of [["gap", "gap", 0], ["time-limit", "time_limit", 0.1]]) byId(id).addEventListener("change", () => {
      const value = evaluated(byId(id).value.trim());
      if (value >= least && Number.isFinite(value)) settings({ [key]: value });
      else { app.say("This value is not a valid number here."); this.showSettings(session.state.settings); }
    });
  }

  showSettings({ gap, time_limit: limit, automatic }) {
    byId("automatic").checked = automatic;
    if (document.activeElement !== byId("gap")) byId("gap").value = gap;
    if (document.activeElement !== byId("time-limit")) byId("time-limit").value = limit;
  }

  take(search) {
    // The answer to an edit may be older than the event that overtook it.
    if (isOvertaken(search, this.search)) return;
    const before = this.search, begun = !before || search.revision !== before.revision || search.seconds < before.seconds;
    if (begun) this.series = [];
    this.search = search;
    if (search.limit !== null || search.own !== null) this.series.push([search.seconds, search.limit, search.own]);
    // A long search is thinned out.
    if (this.series.length > 400) this.series = this.series.filter((_, at) => at % 2 === 0 || at > 380);
    if (before?.status === "searching" && search.status !== "searching") this.app.say(`${search.own === null ? "No plan was found" : `Planned: ${gapWords(search.gap)}`}, after ${figure(search.seconds, 2)} s.`);
    this.later();
  }

  // At most four pictures a second, whatever the server sends.
  later() {
    if (this.waiting !== null) return;
    this.waiting = setTimeout(() => requestAnimationFrame(() => { this.waiting = null; this.drawn = performance.now(); this.draw(); }), Math.max(0, this.drawn + 250 - performance.now()));
  }

  draw() {
    const { search, app } = this, { state: now } = app.session, isOn = search?.status === "searching";
    byId("search").textContent = isOn ? "Stop" : search?.status === "stopped" || (search?.gap ?? 0) > (now?.settings.gap ?? 0) ? "Go on" : "Plan";
    byId("search").disabled = !now?.valid;
    const own = search?.own ?? null, known = data?.problem.primary;
    const isOld = Boolean(search && now && (!now.valid || search.revision !== now.revision));
    byId("headline").classList.toggle("old", isOld);
    byId("headline").dataset.revision = search?.revision ?? "";
    const words = !now?.valid ? "The problem has errors." : ["failed", "infeasible"].includes(search?.status) || (search?.status === "done" && own === null) ? search.words || "There is no plan." : search ? `${isOn ? "searching, " : ""}${figure(search.seconds, 2)} s` : "";
    redraw(byId("headline"), html("p", { class: "own" }, own === null || !known ? "–" : amount(known, own, figure), html("small", {}, known ? `expected ${known}` : "")),
      html("p", { class: `gap ${isOn ? "on" : !isOld && own !== null && search.gap <= OPTIMAL ? "good" : ""}` }, !now?.valid ? "errors" : own === null ? (isOn ? "looking for a plan" : "no plan") : isOld ? "of the plan before" : gapWords(search.gap)),
      html("p", { class: "help", title: search?.words ?? "" }, [interval(search ?? { limit: null, own: null }), words].filter(Boolean).join(" · ")));
    const enough = this.series.length > 0 && data;
    byId("history").classList.toggle("blank", !enough);
    if (enough) drawHistory({ chart: byId("history"), caption: byId("history-caption") }, this.series, "proven", 170);
  }
}

// ---- Bounds ----

const round = (value) => Number(value.toPrecision(3));
const boundPath = (name, stated) => ["constraints", name, ...(stated?.probability ? ["probability"] : []), "at_most"];

export class Bounds {
  constructor(app) {
    Object.assign(this, { app, ranges: new Map(), held: null });
  }

  // While a slider is held, it is not drawn again.
  draw() {
    const file = this.app.document(), host = byId("bounds");
    if (this.held) { this.update(); return; }
    const parameters = parametersOf(file), limits = Object.entries(file?.constraints ?? {});
    if (!limits.length) { redraw(host, html("p", { class: "help" }, "There are no bounds. Add one under “Figures”.")); return; }
    redraw(host, limits.map(([name, stated]) => {
      const isOdds = Boolean(stated?.probability), value = evaluated((stated?.probability ?? stated)?.at_most ?? Infinity, parameters), path = boundPath(name, stated);
      const used = this.app.plan()?.costs[name] ?? 0, known = this.ranges.get(name), shown = Number.isFinite(value) ? value : known ?? Math.max(1, used);
      if (!(known >= shown && shown >= known / 12)) this.ranges.set(name, isOdds ? Math.min(1, round(4 * shown || 0.1)) : round(2.5 * Math.max(shown, used) || 1));
      const most = this.ranges.get(name), slider = html("input", { type: "range", min: 0, max: most, step: most / 200, "data-key": `bound ${name}`, "aria-label": `Bound on ${name}` });
      slider.value = shown;
      const write = (each) => (isOdds ? `${round(100 * each)}%` : round(each));
      slider.addEventListener("input", () => {
        const continues = this.held === name;
        this.held = name;
        this.app.edit([{ op: "set", path, value: write(Number(slider.value)) }], null, `bound ${name}`, continues);
        this.update();
      });
      const release = () => { if (this.held) { this.held = null; this.app.say(`${name} at most ${write(Number(slider.value))}`); } };
      slider.addEventListener("change", release);
      const exact = entry(Number.isFinite(value) ? write(value) : "", (text) => this.app.edit([{ op: "set", path, value: text !== "" && Number.isFinite(Number(text)) ? Number(text) : text }], `${name} at most ${text}`), { size: 6, placeholder: "none", title: String((stated?.probability ?? stated)?.at_most ?? ""), "aria-label": `Bound on ${name} as a number`, "data-key": `exact ${name}` });
      return html("div", { class: "bound", "data-name": name }, html("span", { class: "bound-name" }, name), html("span", { class: "used" }), slider, html("label", {}, "at most ", exact));
    }));
    this.update();
  }

  // What the plan uses of each bound.
  update() {
    const plan = this.app.plan();
    for (const row of byId("bounds").querySelectorAll(".bound")) {
      const { name } = row.dataset, slider = row.querySelector("input[type=range]"), price = plan?.prices?.[name];
      row.querySelector(".used").textContent = plan?.costs[name] === undefined ? "" : `uses ${amount(name, plan.costs[name], figure)}${price ? `, price ${figure(price, 3)}` : ""}`;
      slider.setAttribute("aria-valuetext", `${name} at most ${round(Number(slider.value))}${plan?.costs[name] === undefined ? "" : `; the plan uses ${amount(name, plan.costs[name], figure)}`}`);
      if (this.held === name) row.querySelector("label input").value = round(Number(slider.value));
    }
  }
}

// ---- Summary ----

export function drawSummary(plan) {
  if (!plan?.words?.length) { redraw(byId("tiles")); redraw(byId("words"), html("p", { class: "help" }, "There is no plan for this problem yet.")); redraw(byId("budgets")); return; }
  drawTiles(byId("tiles"), plan);
  byId("words").replaceChildren(...plan.words.map((sentence) => html("p", {}, sentence)));
  drawBudgets(byId("budgets"), plan);
}

// ---- Questions ----

export class Questions {
  constructor(host, app) {
    Object.assign(this, { host, app, where: null, answer: null, asking: null, constraint: null });
  }

  async ask(what, body, show) {
    const { plan } = this.app.head(), turn = this.asking = {};
    let answer;
    this.draw();
    try {
      answer = show(await this.app.session.ask(`/ask/${what}`, { plan, ...body }));
    } catch (error) {
      answer = html("p", { class: "problem-words", role: "alert" }, error.message);
    }
    // Another question may have been asked meanwhile.
    if (this.asking !== turn) return;
    Object.assign(this, { answer, about: plan, asking: null });
    this.draw();
  }

  // `at` is an event, or an activity and a cell; `words` what to call it.
  why(at, words) {
    this.where = { at, words };
    this.app.tab("ask-panel");
    this.ask("why", { at }, (found) => whyTable(found, words));
  }

  draw() {
    const plan = this.app.plan(), { app } = this;
    if (!plan?.words?.length) { redraw(this.host, html("p", { class: "help" }, "Questions need a plan.")); return; }
    const events = data.problem.events.filter((_, event) => data.problem.choices.filter((each) => each.event === event).length > 1);
    const names = data.problem.constraints;
    redraw(this.host,
      html("div", { class: "row" }, html("h3", {}, "Why?"), events.length ? choice([["", "choose an event"], ...events.map((each) => [each, each])], typeof this.where?.at === "string" ? this.where.at : "", (event) => { if (event) this.why(event, event); }, { "aria-label": "Explain this decision", "data-key": "why" }) : null, html("span", { class: "help" }, "or click a cell of the map, or an event")),
      html("div", { class: "row" }, button("Next best plans", () => this.ask("best", { count: 5, time_limit: 10 }, (found) => bestTable(found, (index) => app.showPage(found.page, index)))),
        button("Robustness", () => this.ask("robust", {}, robustTable)),
        button("Simulate", () => this.ask("simulate", { runs: 2000, play: 24 }, (found) => { app.play(found.runs); return outlookOf(plan, found.outlook); }))),
      names.length ? html("div", { class: "row" }, button("Trade-off", () => this.ask("curve", { constraint: this.constraint ?? names[0], time_limit: 10 }, (found) => this.curve(found.page)), { "data-key": "curve" }),
        names.length > 1 ? choice(names, this.constraint ?? names[0], (name) => { this.constraint = name; }, { "aria-label": "The bound to vary", "data-key": "varied" }) : `of ${names[0]}`) : null,
      this.asking ? html("p", { class: "help", role: "status" }, "Computing the answer…") : html("div", { class: "answer", role: "region", "aria-label": "Answer", "aria-live": "polite" }, this.answer && app.head().plan !== this.about ? html("p", { class: "help" }, `About plan ${this.about}, which another one has followed.`) : null, this.answer ?? pricesOf(plan)));
    this.drawn?.();
  }

  // The plans along a curve; a choice shows that plan, and the bound can be taken over.
  curve(page) {
    const hosts = { chart: html("div", { class: "chart" }), caption: html("p", { class: "help" }), table: html("div", { class: "scroll" }) };
    const show = (index) => {
      this.app.showPage(page, index);
      const bound = page.plans[index].bounds[page.varied];
      redraw(taken, index === page.reported ? null : button(`Take the bound ${amount(page.varied, bound)} over`, () => this.app.edit([{ op: "set", path: boundPath(page.varied, this.app.document().constraints[page.varied]), value: isChance(page.varied) ? `${round(100 * bound)}%` : bound }], `${page.varied} at most ${bound}`)));
      drawCurve(hosts, index, show);
    }, taken = html("p", {});
    this.drawn = () => { this.drawn = null; if (page.curve) show(page.reported); };
    return page.curve ? [hosts.chart, taken, hosts.caption, html("details", {}, html("summary", {}, "As a table"), hosts.table)] : html("p", {}, "Other bounds do not change the plan.");
  }
}

const pricesOf = (plan) => (plan.prices && Object.keys(plan.prices).length ? facts(Object.entries(plan.prices).map(([name, price]) => [`price of ${name}`, price ? `${figure(price, 4)} of ${primary} a unit` : "nothing"])) : html("p", { class: "help" }, "Prices are not known yet."));

function whyTable({ reasons, words }, where) {
  const names = [data.problem.primary, ...data.problem.constraints], alternatives = reasons?.alternatives ?? [];
  if (!alternatives.length) return html("p", {}, words || `There is no alternative at ${where}.`);
  const row = (name, costs, best) => [{ text: true, content: name }, ...names.map((each) => amount(each, costs?.[each] ?? null, figure)), best];
  return [html("h3", {}, `At ${where}: ${reasons.chosen}`), html("p", { class: "help" }, "The cost of taking the alternative once and then following the plan; and the best plan that always takes it."),
    html("div", { class: "scroll" }, table(["", ...names.map((name) => `${shortened(name, 20)}, once`), `${primary}, best plan`], [row(`${reasons.chosen} (the plan)`, reasons.costs, ""),
      ...alternatives.map(({ action, once, once_keeps_bounds: kept, best }) => row(`${action}${kept === false ? " ✗ breaks a bound" : ""}`, once, best?.costs ? figure(best.costs[primary] ?? best.upper_bound) : best?.status ?? "–"))]))];
}

// The next best plans: what they cost, and what they do otherwise.
function bestTable({ plans }, show) {
  const names = [data.problem.primary, ...data.problem.constraints], plain = (text) => String(text ?? "anything").replace(/^'(.*)'$/, "$1").replace(/^\('(.*)', (.*)\)$/, "$1 $2");
  if (plans.length < 2) return html("p", {}, "There is no other plan that keeps the bounds.");
  const others = (differences) => (differences.length ? html("details", {}, html("summary", {}, `${differences.length} differ`), html("ul", {}, differences.slice(0, 40).map(({ state: where, action, best }) => html("li", {}, `${plain(where)}: ${plain(action)}${best === null ? "" : ` rather than ${plain(best)}`}`)))) : "");
  return [html("h3", {}, "The best plans that keep the bounds"), html("div", { class: "scroll" }, table(["", ...names.map((name) => shortened(name, 24)), { text: true, content: "decisions" }],
    plans.map(({ costs, differences }, at) => [button(`Show ${at + 1}`, () => show(at), { "aria-label": `Show best plan ${at + 1}` }), ...names.map((name) => amount(name, costs[name], figure)), { text: true, content: others(differences) }]))),
    plans.every(({ proven }) => proven) ? null : html("p", { class: "help" }, "Their order is not proven: the time for the question was over.")];
}

function robustTable({ robustness, words }) {
  const costs = Object.entries(robustness?.costs ?? {});
  return [html("h3", {}, `If every probability may be wrong by a relative ${percent(robustness.within)}`),
    html("div", { class: "scroll" }, table(["", "expected", "worst case", "at most"], costs.map(([name, each]) => [name, figure(each.expected), figure(each.worst), each.at_most === null ? "–" : given(each.at_most)]))),
    costs.filter(([, each]) => each.margin !== undefined && each.margin !== null).map(([name, each]) => html("p", {}, `The bound on ${name} holds as long as no probability is wrong by more than a relative ${percent(each.margin)}.`)),
    html("ul", {}, costs.flatMap(([name, each]) => (each.parameters ?? []).slice(0, 3).map((parameter) => html("li", {}, `${name} changes by ${figure(parameter.change)} if ${parameter.name} were one percent larger`)))), words && !costs.length ? html("p", {}, words) : null];
}

export function outlookOf(plan, outlook, rest = {}) {
  const hosts = { text: html("p", {}), charts: html("div", { class: "pair" }), table: html("div", { class: "scroll" }) };
  drawOutlook(hosts, { ...plan, ...rest, outlook });
  return [hosts.text, hosts.charts, html("details", {}, html("summary", {}, "As a table"), hosts.table)];
}

// ---- Comparison ----

export class Comparison {
  constructor(host, app) {
    Object.assign(this, { host, app, first: null, second: null, answer: null });
  }

  draw() {
    const { app } = this, { plans, revision } = app.session.state, ids = plans.map(({ plan }) => plan);
    if (plans.length < 2) { redraw(this.host, html("p", { class: "help" }, "This compares two plans. Change the problem or a bound: the previous plan is kept here.")); return; }
    // The newest two, until others are picked.
    if (!this.picked || !ids.includes(this.first)) this.first = ids.at(-2);
    if (!this.picked || !ids.includes(this.second)) this.second = ids.at(-1);
    const options = plans.map((head) => [head.plan, planName(head, revision)]), pick = (which, words) => labelled(words, choice(options, this[which], (id) => { this[which] = Number(id); this.picked = true; this.answer = null; this.draw(); }, { "data-key": which }));
    redraw(this.host, html("div", { class: "row" }, pick("first", "Compare"), pick("second", "with"), button("Compare", () => this.ask()), button("Show the first", () => app.showPlan(plans.find(({ plan }) => plan === this.first))), button("Show the newest", () => app.showPlan(plans.at(-1)))), html("div", { class: "answer" }, this.answer ?? []));
  }

  async ask() {
    try {
      const { app } = this, { costs, activities, choices, page } = await app.session.ask("/ask/compare", { first: this.first, second: this.second });
      const hosts = { table: html("div", { class: "scroll" }), maps: html("div", { class: "triple" }) }, title = (_, index) => planName(app.session.state.plans.find(({ plan }) => plan === [this.first, this.second][index]), app.session.state.revision);
      if (page) drawComparison(hosts, page, page.plans, [0, 1], title);
      else {
        const named = (words) => ({ name, first, second }) => [words(name), figure(first), figure(second)];
        hosts.table.append(table(["", ...[0, 1].map((index) => title(null, index))], [...costs.map(named((name) => name)), ...activities.map(named((name) => `${name}: executed`)), ...choices.map(({ event, name, first, second }) => [`${event}: ${name}`, first ?? "–", second ?? "–"])]));
        // The rooms differ: each plan is drawn in its own.
        hosts.maps.append(...await Promise.all([this.first, this.second].map(async (id, index) => mapOf((await request("GET", `/sessions/${app.session.id}/plans/${id}`)).page, title(null, index)))));
      }
      this.answer = [hosts.table, hosts.maps];
    } catch (error) {
      this.answer = html("p", { class: "problem-words", role: "alert" }, error.message);
    }
    this.draw();
  }
}

function mapOf(page, words) {
  const { width, height, panels } = page.sheet, stride = Math.max(1, Math.ceil(Math.max(width, height) / 60)), shown = page.plans[page.reported];
  const picture = svg("svg", { viewBox: `-1 -1 ${width + 2} ${height + 2}`, role: "img", "aria-label": words }, panels.filter((panel) => panel.grid).map((panel) => [drawRoom(page, panel, false), drawCells(page, panel, visited(page, shown, panel.activities), false, stride)]));
  picture.style.setProperty("--unit", (width + 2) / 400);
  return html("figure", {}, picture, html("figcaption", {}, words));
}

// ---- A run ----

export class Operator {
  constructor(host, app) {
    Object.assign(this, { host, app, run: null, change: 0, outlook: null, measured: {}, deadline: 2, words: "" });
  }

  take(run) {
    Object.assign(this, { run, change: run?.change ?? this.change, outlook: null, measured: {} });
    this.words = run?.replanned?.words ?? "";
    if (run?.page) this.app.showPage(run.page, run.page.reported);
    else if (!run && this.app.session.state.plans.length) this.app.showPlan(this.app.session.state.plans.at(-1));
    this.draw();
    this.mark();
  }

  async act(path, body) {
    if (this.acting) return false;
    this.acting = true;
    try {
      const answer = await this.app.session.ask(`/run${path}`, body);
      if (path === "/outlook") { this.outlook = answer.outlook; this.draw(); } else this.take(path === "/end" ? null : answer);
      if (this.run && path !== "/outlook") this.app.say(this.run.words);
      if (path === "") this.app.showPlace();
      return true;
    } catch (error) {
      this.words = error.message;
      this.draw();
      return false;
    } finally {
      this.acting = false;
    }
  }

  // What was measured counts with the next observation, or with the next replanning.
  used() {
    return Object.keys(this.measured).length ? { used: this.measured } : {};
  }

  observe({ observation, outcome }) {
    return this.act("/step", { observation, ...(outcome !== null && outcome !== observation ? { outcome } : {}), ...this.used() });
  }

  // What happens is drawn at random, as the model has it.
  chance() {
    const { possible } = this.run;
    let left = Math.random() * possible.reduce((sum, { probability }) => sum + probability, 0);
    return this.observe(possible.find(({ probability }) => (left -= probability) < 0) ?? possible.at(-1));
  }

  // Where the robot is, and where it was.
  mark() {
    const { run } = this, sheet = this.app.sheet, on = (index, x, y) => { const panel = panelOf(data, index); return panel?.grid ? placed(panel, [x, y]).map((each) => each + 0.5) : null; };
    byId("levels").querySelectorAll(".way").forEach((way) => way.classList.toggle("here", Boolean(run?.activity) && way.dataset.activities.split(" ").includes(String(run.index))));
    if (!run?.trail || !sheet.pixels) { this.layer?.replaceChildren(); return; }
    this.layer ??= sheet.element.appendChild(svg("g", { class: "robot" }));
    let d = "", before = null;
    for (const [index, x, y] of run.trail) {
      const at = on(index, x, y);
      if (at) d += `${before && Math.abs(at[0] - before[0]) + Math.abs(at[1] - before[1]) <= 2 ? "L" : "M"}${at.join(" ")}`;
      before = at;
    }
    const last = run.cell && run.index !== null ? on(run.index, ...run.cell) : null, r = Math.max(0.35, 7 / sheet.pixels);
    this.layer.replaceChildren(...(d ? [svg("path", { class: "trail-edge", d }), svg("path", { class: "trail", d })] : []), ...(last ? [svg("circle", { class: "token hit", cx: last[0], cy: last[1], r })] : []));
  }

  draw() {
    const { run, app, host } = this, plan = app.plan();
    if (!run) {
      redraw(host, html("p", { class: "help" }, "Follow an execution of the plan step by step, enter the observations, and replan the rest."),
        plan?.words?.length ? button("Begin a run", () => this.act("", { plan: app.head().plan })) : null, this.words ? html("p", { class: "problem-words", role: "alert" }, this.words) : null);
      return;
    }
    const { problem } = data, names = [problem.primary, ...problem.constraints];
    const cell = (figures, name) => (figures?.[name] === undefined || figures[name] === null ? "–" : amount(name, figures[name], figure));
    const where = [run.event && run.event !== `in ${run.activity}` ? `at ${run.event}` : null, run.activity ? `in ${run.activity}` : null, run.state].filter(Boolean).join(", ");
    const chances = app.document() ? chancesOf(app.document()) : [];
    // The outcome alone, unless it can begin in several states.
    const called = ({ outcome, state: where }) => (outcome === null ? where ?? "goes on" : run.possible.filter((each) => each.outcome === outcome).length > 1 ? `${outcome}, ${where}` : outcome);
    const capacities = Object.entries(run.capacities), left = (name, most) => { const amount = most - (this.measured[name] ?? run.used[name] ?? 0); return `${figure(amount, 3)} of ${figure(most)} (${percent(amount / most)})`; };
    redraw(host, html("p", { class: "where", role: "status" }, run.over ? `The run is over after ${run.steps} steps.` : `Step ${run.steps}: ${where}.`, run.action ? html("strong", {}, ` Next: ${run.action}`) : null),
      this.words ? html("p", { class: "help", role: "status" }, this.words) : null,
      html("div", { class: "scroll" }, table(["", "spent", "expected", "left of the bound"], names.map((name) => [name, cell(run.spent, name), cell(run.remaining, name), cell(run.left, name)]))),
      capacities.length ? facts(capacities.map(([name, most]) => [`${name} left`, left(name, most)])) : null,
      run.over ? null : [html("h3", {}, "Observation"), html("div", { class: "row" }, run.possible.map((each, at) => button(`${called(each)}${run.possible.length > 1 ? ` · ${percent(each.probability)}` : ""}`, () => this.observe(each), { "data-key": `observed ${at}` }))),
        html("div", { class: "row" }, button("Step by chance", () => this.chance()), button("To the next event", () => this.hurry(), { title: "steps by chance until something is decided" })),
        html("h3", {}, "The world is different"),
        capacities.length ? html("div", { class: "row" }, capacities.map(([name, most]) => labelled(`${name} left, measured`, entry("", (text) => this.measure(name, most, text), { placeholder: "such as 40%", "data-key": `measured ${name}` })))) : null,
        chances.length ? html("details", { open: this.reporting, ontoggle: (event) => { this.reporting = event.target.open; } }, html("summary", {}, "Report an event"), html("p", { class: "help" }, "The outcome is known: the problem is changed, and the rest is planned again."), html("div", { class: "row" }, chances.map((each) => button(`${each.name}: ${each.to}`, () => this.report(each), { title: `at ${each.event}`, "data-key": `report ${each.path.join("/")} ${each.at}` })))) : null,
        html("div", { class: "row" }, button("Replan", () => this.replan(), { title: "with the problem as it is now, and what was measured" }), labelled("within seconds", entry(this.deadline, (text) => { this.deadline = Number(text) || 2; }, { size: 4, "data-key": "deadline" }))),
        html("div", { class: "row" }, button("Distribution of the rest", () => this.act("/outlook", {})))],
      this.outlook && plan ? outlookOf(plan, this.outlook, { bounds: run.left ?? {}, costs: run.remaining ?? {} }) : null,
      html("div", { class: "row" }, button("End the run", () => this.act("/end", {}))));
  }

  // A share of what there is, or an amount.
  measure(name, most, text) {
    const amount = evaluated(text) * (text.endsWith("%") ? most : 1);
    if (text !== "" && !(amount >= 0 && amount <= most)) { this.app.say(`${text} is not between 0 and ${most}.`); return; }
    if (text === "") delete this.measured[name];
    else this.measured[name] = most - amount;
    this.draw();
  }

  replan() {
    return this.act("/replan", { deadline: this.deadline, problem: "edited", ...this.used() });
  }

  // Until something is decided, or nothing happens any more.
  async hurry() {
    const from = this.run.event;
    for (let steps = 0; steps < 500 && this.run && !this.run.over && (steps === 0 || this.run.activity || this.run.event === from); steps++) if (!await this.chance()) return;
  }

  async report(chance) {
    await this.app.edit(certain(chance), `${chance.name} leads to ${chance.to}.`);
    await this.replan();
  }
}
