// The figures: in brief, of one activity, of all of them; and every activity's room by itself.

function drawTiles(host, plan) {
  const gap = gapOf(plan), optimal = gap !== null && gap <= OPTIMAL;
  const tile = (title, value, small) => html("div", {}, html("dt", {}, title), html("dd", {}, value, html("small", {}, small)));
  host.replaceChildren(
    tile(`Expected ${primary}`, amount(primary, plan.costs[primary], figure), "of the whole procedure"),
    ...data.problem.constraints.map((constraint) => {
      const bound = plan.bounds[constraint], used = plan.costs[constraint];
      const kept = bound === null || used <= bound + 1e-9 * Math.abs(bound);
      const shown = isChance(constraint) ? amount(constraint, used, figure) : withUnit(data, constraint, beside(used, bound));
      return tile(capital(expectedOf(constraint)), shown, bound === null ? "no bound" : `${kept ? "✓ within" : "✗ beyond"} the bound of ${amount(constraint, bound)}`);
    }),
    tile(`${capital(plan.word)} interval`, plan.limit === null ? "unknown" : html("span", { class: "interval" }, html("span", {}, `${roundedDown(Math.min(plan.limit, plan.own))} –`), " ", html("span", {}, withUnit(data, primary, roundedUp(Math.max(plan.limit, plan.own))))), greatest ? `contains the best plan's ${shortened(primary)}` : "contains the best plan's cost"),
    tile("Quality", optimal ? "✓ optimal" : gap === null ? "unknown" : `within ${percent(gap)}`, optimal ? `${plan.word}, to one part in a million` : gap === null ? "nothing is proven" : `of the best plan, ${plan.word}`),
    ...(plan.limit === null && plan.claimed !== null ? [tile("Claimed, not checked", `not ${worse} ${roundedLimit(plan.claimed)}`, "says the plan's file")] : []));
}

function activityFacts(plan, index) {
  const share = plan.activities[index], activity = data.problem.activities[index], each = (value) => (share.executions ? value / share.executions : null);
  return html("dl", { class: "facts" }, [
    ["executed", share.executions ? times(share.executions) : "never"],
    ["leads from", data.problem.events[activity.from]], ["to", activity.to.map((event) => data.problem.events[event]).join(" or ")],
    [`${primary}, each time`, amount(primary, each(share.cost), figure)],
    ...Object.entries(share.usage).map(([name, used]) => [`${name}, each time`, amount(name, each(used), figure)
      + (share.allocated[name] === undefined ? "" : `, allocated ${amount(name, each(share.allocated[name]), figure)}`)]),
    ["states", activity.states.toLocaleString("en")],
  ].map(([term, value]) => [html("dt", {}, term), html("dd", {}, value)]));
}

function drawFacts(host, plan, index) {
  host.replaceChildren(...(index === null ? (state.level === null ? [] : useFacts(plan, state.level))
    : [html("h3", {}, data.problem.activities[index].name), activityFacts(plan, index), statesTable(plan, index) ?? ""]));
}

// The busiest states of a table; where only one action is ever taken, it is enough to say so.
function statesTable(plan, index) {
  const states = plan.activities[index].states;
  if (!states) return null;
  const actions = new Set(states.map(([, action]) => action));
  if (actions.size === 1) return html("p", {}, `Always: ${[...actions][0]}.`);
  return html("div", { class: "scroll" }, table(["state", { text: true, content: "action" }, "visits, each time"], states.map(([state, action, visits]) => [state, { text: true, content: action }, figure(visits, 3)])));
}

function drawActivities(hosts, plan, choose) {
  const constraints = data.problem.constraints;
  const cut = (name) => shortened(name, 48);
  const head = ["activity", "expected executions", `${cut(called(primary))}, each`, `${cut(called(primary))}, total`, ...constraints.flatMap((name) => [`${cut(called(name))}, each`, `${cut(called(name))}, total`])];
  const order = plan.activities.map((share, index) => ({ share, index, name: data.problem.activities[index].name })).filter(({ index }) => isShownActivity(index));
  const rows = order.filter(({ share }) => share.executions > 0).map(({ share, index, name }) => {
    const each = (value, of = primary) => (value === undefined ? "–" : inColumn(of, value / share.executions));
    const row = [html("button", { type: "button", title: "show on the map", onclick: () => choose(index) }, name), figure(share.executions), each(share.cost), figure(share.cost),
      ...constraints.flatMap((constraint) => [each(share.usage[constraint], constraint), share.usage[constraint] === undefined ? "–" : inColumn(constraint, share.usage[constraint])])];
    return Object.assign(row, { activity: index });
  });
  const inAll = state.level === null ? { cost: plan.costs[primary], usage: plan.costs } : useShare(plan, state.level);
  hosts.table.replaceChildren(table(head, rows, [state.level === null ? "total" : `all of ${data.uses[state.level].own}`, "", "", figure(inAll.cost),
    ...constraints.flatMap((name) => ["", inAll.usage[name] === undefined ? "–" : isChance(name) ? amount(name, inAll.usage[name], figure) : beside(inAll.usage[name], state.level === null ? plan.bounds[name] : null)])]));
  const never = order.filter(({ share }) => !share.executions).map(({ name }) => name);
  hosts.never.textContent = never.length ? `Never executed: ${never.slice(0, 12).join(", ")}${never.length > 12 ? ` and ${never.length - 12} more` : ""}.` : "";
  const cards = order.filter(({ share }) => share.executions > 0).sort((a, b) => b.share.executions - a.share.executions).map(({ share, index, name }) => {
    const { room } = data.problem.activities[index], panel = panelOf(data, index);
    let picture = null;
    if (panel.grid) {
      const [left, top] = panel.corner, stride = Math.max(1, Math.ceil(Math.max(panel.width, panel.height) / 36));
      picture = svg("svg", { viewBox: `${left} ${top} ${panel.width} ${panel.height}`, role: "img", "aria-label": `Where ${name} goes` },
        drawRoom(data, panel, false), drawCells(data, panel, visited(data, plan, [index]).map((cell) => ({ ...cell, visits: cell.visits / share.executions })), false, stride), marks(data, panel, index, Math.max(0.24, panel.width / 42)));
      // How many cells wide a pixel is, for the outlines of the signs.
      picture.style.setProperty("--unit", panel.width / 240);
    }
    const each = [`${primary} ${amount(primary, share.cost / share.executions, (value) => figure(value, 2))}`,
      ...Object.entries(share.usage).filter(([, used]) => used > 0).map(([constraint, used]) => `${constraint} ${amount(constraint, used / share.executions, (value) => figure(value, 3))}`)];
    return html("div", { class: "card", "data-activity": index }, html("h3", {}, name), picture, statesTable(plan, index),
      html("p", {}, `${room === name ? "" : `Room ${room}. `}Executed ${times(share.executions)}; each: ${each.join(", ")}.`));
  });
  hosts.gallery.replaceChildren(...cards);
}
