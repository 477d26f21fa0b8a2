// Procedures inside procedures: which one is open, what belongs to it, and the way back.

const state = { view: 0, plan: 0, activity: null, level: null, floor: null, part: null };

const between = (value, [first, stop]) => value >= first && value < stop;
const isShownActivity = (index) => state.level === null || between(index, data.uses[state.level].activities);
// What the map shows: one activity, or all of the procedure that is open and of the floor that is chosen.
const shownOnMap = () => ({
  only: state.activity, part: state.part, floor: state.floor,
  activities: data.problem.activities.map((_, index) => index).filter((index) => isShownActivity(index) && onFloor(index)),
});
const onFloor = (index) => state.floor === null || data.sheet.floors[state.floor].activities.includes(index) || !data.sheet.floors.some((floor) => floor.activities.includes(index));
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
    [`${data.problem.primary}, each time`, amount(data.problem.primary, each(share.cost), figure)],
    ...Object.entries(share.usage).map(([name, used]) => [`${name}, each time`,
      limits.has(name) ? `${figure(each(used))} of at most ${amount(name, limits.get(name))}` : amount(name, each(used), figure)]),
  ].map(([term, value]) => [html("dt", {}, term), html("dd", {}, value)]))];
}

function drawCrumbs(open) {
  if (data.uses.length === 0) return;
  const path = [];
  for (let level = state.level; level !== null; level = data.uses[level].parent) path.unshift(level);
    for (const host of document.querySelectorAll(".crumbs")) {
    host.hidden = state.level === null;
    host.replaceChildren(...[null, ...path].flatMap((level, at) => {
      const name = level === null ? data.problem.name : data.uses[level].own;
      const here = level === state.level;
      const crumb = here ? html("span", { "aria-current": "location" }, name) : html("button", { type: "button", onclick: () => open(level) }, name);
      return at ? [html("span", { "aria-hidden": "true" }, "›"), crumb] : [crumb];
    }));
  }
}
