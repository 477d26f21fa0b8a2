// Procedures inside procedures: which one is open, what belongs to it, and the way back.

const state = { plan: data.reported, activity: null, level: null };

const between = (value, [first, stop]) => value >= first && value < stop;
const isShownActivity = (index) => state.level === null || between(index, data.uses[state.level].activities);
const isShownPanel = (panel) => state.level === null || panel.activities.some(isShownActivity);
const graphShown = () => (state.level === null ? data.graph : data.uses[state.level].graph);
const startShown = () => (state.level === null ? data.problem.start : data.uses[state.level].start);
const isShownChoice = (index) => data.uses.length === 0 || graphShown().ways.some((way) => way.choice === index);

// What all executions of a use cost together, and how many are expected.
function useShare(plan, number) {
  const use = data.uses[number], share = { executions: 0, cost: 0, usage: {} };
  data.problem.choices.forEach((choice, index) => {
    if (between(choice.event, use.events)) return;
    for (const outcome of choice.outcomes) {
      if (outcome.activity === null && outcome.events[0] === use.start) share.executions += plan.choices[index] * outcome.probability;
    }
  });
  for (let index = use.activities[0]; index < use.activities[1]; index++) {
    share.cost += plan.activities[index].cost;
    for (const [name, used] of Object.entries(plan.activities[index].usage)) share.usage[name] = (share.usage[name] ?? 0) + used;
  }
  return share;
}

function useFacts(plan, number) {
  const use = data.uses[number], share = useShare(plan, number), each = (value) => (share.executions ? value / share.executions : null);
  const limits = new Map(use.limits.map(({ name, limit }) => [name, limit]));
  return [html("h3", {}, use.name), html("dl", { class: "facts" }, [
    ...(use.procedure ? [["procedure", use.procedure]] : []),
    ["executed", share.executions ? times(share.executions) : "never"],
    [`${called(data.problem.primary)}, each time`, figure(each(share.cost))],
    ...Object.entries(share.usage).map(([name, used]) => [`${called(name)}, each time`,
      limits.has(name) ? `${figure(each(used))} of ${given(limits.get(name))} allowed` : amount(name, each(used), figure)]),
  ].map(([term, value]) => [html("dt", {}, term), html("dd", {}, value)]))];
}

// The address says which one is open, so that the browser's own way back works too.
const addressOf = (level) => (level === null ? "#procedure" : `#in=${encodeURIComponent(data.uses[level].name)}`);
function openLevel(level) {
  if (addressOf(level) === location.hash) showLevel(level);
  else location.hash = addressOf(level);
}

function followAddress() {
  const wanted = location.hash.startsWith("#in=") ? decodeURIComponent(location.hash.slice(4)) : null;
  const found = data.uses.findIndex((use) => use.name === wanted);
  state.level = found < 0 ? null : found;
}

function showLevel(level) {
  state.level = level;
  state.activity = null;
  shownStart = false;
  choosePlan(state.plan);
  byId("procedure").scrollIntoView({ block: "start" });
}

addEventListener("hashchange", () => {
  const before = state.level;
  // Other places on the page have addresses of their own.
  if (!location.hash.startsWith("#in=") && location.hash !== "#procedure" && location.hash !== "") return;
  followAddress();
  if (state.level !== before) showLevel(state.level);
});

function drawCrumbs() {
  if (data.uses.length === 0) return;
  const path = [];
  for (let level = state.level; level !== null; level = data.uses[level].parent) path.unshift(level);
  byId("uses-hint").hidden = !graphShown().nodes.some((node) => node.kind === "use");
  for (const host of document.querySelectorAll(".crumbs")) {
    host.hidden = state.level === null;
    host.replaceChildren(...[null, ...path].flatMap((level, at) => {
      const name = level === null ? data.problem.name : data.uses[level].own;
      const here = level === state.level;
      const crumb = here ? html("span", { "aria-current": "location" }, name) : html("button", { type: "button", onclick: () => openLevel(level) }, name);
      return at ? [html("span", { "aria-hidden": "true" }, "›"), crumb] : [crumb];
    }));
  }
}
