// The figures: in brief, of one activity, of all of them; and every activity's room by itself.

function drawBrief(current) {
  const plan = data.plans[current], other = current !== data.reported, name = data.varied;
  byId("other").hidden = !other;
  byId("other").textContent = other ? `This is not the reported plan but the one for ${called(name)} at most ${amount(name, plan.bounds[name])}.` : "";
  byId("words").replaceChildren(...plan.words.map((sentence) => html("p", {}, sentence)), ...(other ? [] : [html("p", {}, data.stopped)]));
  const gap = gapOf(plan), optimal = gap !== null && gap <= OPTIMAL;
  const tile = (title, value, small) => html("div", {}, html("dt", {}, title), html("dd", {}, value, html("small", {}, small)));
  byId("tiles").replaceChildren(
    tile(`Expected ${called(primary)}`, figure(plan.costs[primary]), "of the whole procedure"),
    ...data.problem.constraints.map((constraint) => {
      const bound = plan.bounds[constraint], used = plan.costs[constraint];
      const kept = bound === null || used <= bound + 1e-9 * Math.abs(bound);
      const told = isChance(constraint) ? amount(constraint, used, figure) : beside(used, bound);
      return tile(capital(expectedOf(constraint)), told, bound === null ? "no bound" : `${kept ? "✓ within" : "✗ beyond"} the ${amount(constraint, bound)} allowed`);
    }),
    tile(`${capital(plan.word)} interval`, plan.limit === null ? "unknown" : html("span", { class: "interval" }, html("span", {}, `${roundedDown(Math.min(plan.limit, plan.own))} –`), " ", html("span", {}, roundedUp(Math.max(plan.limit, plan.own)))), greatest ? `holds the best plan's ${shortened(primary)}` : "holds the best plan's cost"),
    tile("Quality", optimal ? "✓ optimal" : gap === null ? "unknown" : `within ${percent(gap)}`, optimal ? `${plan.word}, to one part in a million` : gap === null ? "nothing is proven" : `of the best plan, ${plan.word}`),
    ...(plan.limit === null && plan.claimed !== null ? [tile("Claimed, not checked", `not ${worse} ${roundedLimit(plan.claimed)}`, "says the plan's file")] : []));
}

function activityFacts(plan, index) {
  const share = plan.activities[index], activity = data.problem.activities[index], each = (value) => (share.executions ? value / share.executions : null);
  return html("dl", { class: "facts" }, [
    ["executed", share.executions ? times(share.executions) : "never"],
    ["leads from", data.problem.events[activity.from]], ["to", activity.to.map((event) => data.problem.events[event]).join(" or ")],
    [`${called(primary)}, each time`, figure(each(share.cost))],
    ...Object.entries(share.usage).map(([name, used]) => [`${called(name)}, each time`, amount(name, each(used), figure)]),
    ["states", activity.states.toLocaleString("en")],
  ].map(([term, value]) => [html("dt", {}, term), html("dd", {}, value)]));
}

function drawFacts(plan, index) {
  byId("activity-facts").replaceChildren(...(index === null && state.level !== null ? useFacts(plan, state.level) : index === null
    ? !data.sheet.panels.some((panel) => panel.grid) ? [] : [html("p", { class: "help" }, data.sheet.panels.some((panel) => panel.activities.length > 1)
      ? "Where several activities pass a cell, their visits are added up and the arrow is that of the busiest." : "Every activity is drawn by itself.")]
    : [html("h3", {}, data.problem.activities[index].name), activityFacts(plan, index), statesTable(plan, index) ?? ""]));
}

function statesTable(plan, index) {
  const states = plan.activities[index].states;
  if (!states) return null;
  return html("div", { class: "scroll" }, table(["state", { text: true, content: "action" }, "visits, each time"], states.map(([state, action, visits]) => [state, { text: true, content: action }, figure(visits, 3)])));
}

function drawActivities(plan, choose) {
  const constraints = data.problem.constraints;
  const cut = (name) => shortened(name, 48);
  const head = ["activity", "expected executions", `${cut(called(primary))}, each`, `${cut(called(primary))}, total`, ...constraints.flatMap((name) => [`${cut(called(name))}, each`, `${cut(called(name))}, total`])];
  const order = plan.activities.map((share, index) => ({ share, index })).filter(({ index }) => isShownActivity(index)).sort((a, b) => (b.share.executions > 0) - (a.share.executions > 0));
  const rows = order.map(({ share, index }) => {
    const name = data.problem.activities[index].name, ran = share.executions > 0, each = (value, of = primary) => (ran && value !== undefined ? amount(of, value / share.executions, figure) : "–");
    const row = [ran ? html("button", { type: "button", title: "show on the map", onclick: () => choose(index) }, name) : `${name} (never)`,
      ran ? figure(share.executions) : "0", each(share.cost), ran ? figure(share.cost) : "–", ...constraints.flatMap((constraint) => [each(share.usage[constraint], constraint), ran && share.usage[constraint] !== undefined ? amount(constraint, share.usage[constraint], figure) : "–"])];
    row.className = ran ? null : "idle";
    return row;
  });
  const inAll = state.level === null ? { cost: plan.costs[primary], usage: plan.costs } : useShare(plan, state.level);
  byId("activity-table").replaceChildren(table(head, rows, [state.level === null ? "in all" : `all of ${data.uses[state.level].own}`, "", "", figure(inAll.cost),
    ...constraints.flatMap((name) => ["", inAll.usage[name] === undefined ? "–" : isChance(name) ? amount(name, inAll.usage[name], figure) : beside(inAll.usage[name], state.level === null ? plan.bounds[name] : null)])]));
  const cards = order.filter(({ share }) => share.executions > 0).sort((a, b) => b.share.executions - a.share.executions).map(({ share, index }) => {
    const { name, room } = data.problem.activities[index], panel = panelOf(index);
    let picture = null;
    if (panel.grid) {
      const [left, top] = panel.corner, stride = Math.max(1, Math.ceil(Math.max(panel.width, panel.height) / 36));
      picture = svg("svg", { viewBox: `${left} ${top} ${panel.width} ${panel.height}`, role: "img", "aria-label": `Where ${name} goes` },
        drawRoom(panel), drawCells(panel, visited(plan, [index]).map((cell) => ({ ...cell, visits: cell.visits / share.executions })), false, stride), marks(panel, index, Math.max(0.24, panel.width / 42)));
      // So many cells a pixel is wide, for the outlines of the signs.
      picture.style.setProperty("--unit", panel.width / 240);
    }
    const each = [`${called(primary)} ${figure(share.cost / share.executions, 2)}`, ...Object.entries(share.usage).map(([constraint, used]) => `${called(constraint)} ${amount(constraint, used / share.executions, (value) => figure(value, 3))}`)];
    return html("div", { class: "card" }, html("h3", {}, name), picture ?? statesTable(plan, index),
      html("p", {}, `${room === name ? "" : `Room ${room}. `}Executed ${times(share.executions)}; each: ${each.join(", ")}.`));
  });
  byId("gallery").replaceChildren(...cards);
}
