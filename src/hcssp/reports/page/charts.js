// The trade-off curve, the history of the proof, the distribution of costs, the shares of a budget.

function drawCurve(hosts, current, choose) {
  const curve = data.curve, name = data.varied;
  // A plan under no bound at all stands at the right edge.
  const bounds = data.plans.map((plan) => plan.bounds[name]).filter((bound) => bound !== null);
  const last = Math.max(...bounds, ...curve.breakpoints.map((point) => point[0]));
  const first = Math.min(...bounds);
  const edge = last + 0.06 * (last - first || 1);
  const at = (plan) => (plan.bounds[name] === null ? edge : plan.bounds[name]);
  // Where hardly anything is proven, a whisker may leave the picture.
  const values = [...data.plans.map((plan) => plan.own), ...curve.breakpoints.map((point) => point[1])];
  const low = Math.min(...values), high = Math.max(...values), room = 0.06 * (high - low || 1);
  const { picture, px, py, box } = frame(hosts.chart, {
    height: 320, x: [first - 0.02 * (edge - first), edge], y: [low - room, high + room],
    xTitle: `bound on ${called(name)}`, yTitle: `expected ${called(primary)}`,
  });
  picture.setAttribute("aria-label", `Expected ${called(primary)} against the bound on ${name}; the table below has the figures.`);
  if (curve.breakpoints.length > 1) {
    picture.append(svg("path", { class: "line dashed", d: polyline(curve.breakpoints.map(([x, y]) => [px(x), py(y)])) }));
  }
  // A plan stays the best known one until the next bound is reached: a step function.
  const steps = [];
  data.plans.forEach((plan, index) => {
    if (index) steps.push([px(at(plan)), py(data.plans[index - 1].own)]);
    steps.push([px(at(plan)), py(plan.own)]);
  });
  picture.append(svg("path", { class: "line", d: polyline(steps) }));
  const chosen = data.plans[current];
  picture.append(svg("path", { class: "cross", d: `M${box.left} ${py(chosen.own)}H${px(at(chosen))}V${box.bottom}` }));
  data.plans.forEach((plan, index) => {
    const x = px(at(plan));
    if (plan.limit !== null && gapOf(plan) > OPTIMAL) {
      const end = Math.max(box.top, Math.min(py(plan.limit), box.bottom));
      picture.append(svg("path", { class: plan.finished ? "mean" : "mean unfinished", d: `M${x} ${end}V${py(plan.own)}M${x - 5} ${end}h10` }));
    }
    const label = `${name} at most ${amount(name, plan.bounds[name])}: expected ${primary} ${amount(primary, plan.own, figure)}${plan.finished ? "" : `, search not finished: ${qualityOf(plan)}`}`;
    picture.append(svg("circle", { class: `point${index === current ? " current" : ""}${plan.finished ? "" : " unfinished"}`, cx: x, cy: py(plan.own), r: index === current ? 7 : 5,
      onclick: () => choose(index) }, svg("title", {}, label)));
  });
  hosts.caption.textContent = "Circles are the plans of this page; the filled circle is the plan that is shown. Whiskers end at the proven bound. "
    + (data.plans.every((plan) => plan.finished) ? "" : "Pale circles are plans of searches that were stopped early: a better plan may exist within the whisker. ") + (curve.breakpoints.length > 1 ? `No plan lies ${worse} the broken line${curve.exact ? ", which randomised policies reach" : ""}.` : "");
  const rows = data.plans.map((plan, index) => {
    const row = [html("span", {}, amount(name, plan.bounds[name]) + (index === data.reported ? " (reported)" : "")), isChance(name) ? amount(name, plan.costs[name], figure) : beside(plan.costs[name], plan.bounds[name]), figure(plan.own),
      roundedLimit(plan.limit), qualityOf(plan) + (plan.finished ? "" : ", not finished"), plan.prices && name in plan.prices ? figure(plan.prices[name]) : "–"];
    row.className = [index === current ? "current" : "", plan.finished ? "" : "unfinished"].join(" ").trim() || null;
    return row;
  });
  hosts.table.replaceChildren(table([`bound on ${shortened(called(name))}`, `expected ${shortened(called(name))}`, `expected ${shortened(called(primary))}`, `proven: not ${worse}`, "quality", `price of ${shortened(called(name))}`], rows));
}

// How the interval narrowed: `history` has instants with what is proven and the best plan by then.
function drawHistory(hosts, history, word, height = 260) {
  const known = history.filter((point) => point[1] !== null || point[2] !== null);
  if (!known.length) return;
  const end = known[known.length - 1];
  const owns = known.map((point) => point[2]).filter((value) => value !== null);
  const limits = known.map((point) => point[1]).filter((value) => value !== null);
  // The first bounds may be far off and would flatten all the rest.
  const sign = greatest ? -1 : 1, tight = Math.max(...limits.map((value) => sign * value));
  const spread = owns.length ? Math.max(sign * owns[0] - tight, 1e-3 * Math.abs(tight), 1e-9) : 1;
  const best = Math.max(Math.min(...limits.map((value) => sign * value)), tight - 1.5 * spread), worst = owns.length ? Math.max(...owns.map((value) => sign * value)) : tight + spread;
  const low = Math.min(sign * best, sign * worst), high = Math.max(sign * best, sign * worst);
  // Two lines that are one from the beginning still need an axis with figures that differ.
  const room = Math.max(0.08 * (high - low), 1e-3 * Math.abs(high)) || 1;
  const { picture, px, py, box } = frame(hosts.chart, {
    height, x: [0, end[0] || 1], y: [low - room, high + room], xTitle: "seconds", yTitle: `expected ${called(primary)}`,
  });
  picture.setAttribute("aria-label", `The ${word} interval over ${figure(end[0], 1)} seconds.`);
  const walk = (which) => {
    const points = [];
    for (const point of known) {
      if (point[which] === null) continue;
      const y = Math.max(box.top, Math.min(box.bottom, py(point[which])));
      if (points.length) points.push([px(point[0]), points[points.length - 1][1]]);
      points.push([px(point[0]), y]);
    }
    return points;
  };
  const upper = walk(2), lower = walk(1);
  if (upper.length && lower.length) {
    const begin = upper[0][0];
    const inside = lower.filter(([x]) => x >= begin);
    if (inside.length) picture.append(svg("path", { class: "band", d: polyline([...upper, ...inside.reverse()]) + "Z" }));
  }
  picture.append(svg("path", { class: "line lower", d: polyline(lower) }), svg("path", { class: "line", d: polyline(upper) }));
  // What was known at one instant only is a point and no line.
  for (const points of [lower, upper]) if (points.length === 1) picture.append(svg("circle", { class: "point", cx: points[0][0], cy: points[0][1], r: 4 }));
  const x = box.right - (upper.length === 1 || lower.length === 1 ? 10 : 4);
  const over = greatest ? lower : upper, under = greatest ? upper : lower;
  const label = (points) => (points === upper ? "the best plan so far" : `${word}: no plan ${worse}`);
  if (over.length) picture.append(svg("text", { x, y: over[over.length - 1][1] - 8, "text-anchor": "end" }, label(over)));
  if (under.length) picture.append(svg("text", { x, y: under[under.length - 1][1] + 18, "text-anchor": "end" }, label(under)));
  hosts.caption.textContent = `The full line is ${greatest ? "what" : "the cost of"} the best plan found so far${greatest ? " has" : ""}, the dotted one the ${word} ${greatest ? "upper" : "lower"} bound. `
    + (word === "proven" ? "The best deterministic plan is between the two lines at any time." : "The plan's file claims this; it was not checked.");
}

function drawOutlook(hosts, plan) {
  const outlook = plan.outlook;
  const risky = outlook.costs.filter((cost) => cost.exceeding);
  let text = `${outlook.runs.toLocaleString("en")} simulated runs of this plan. `;
  for (const cost of risky) {
    // A run has it or not: there is no more or less of it, and no distribution.
    text += isChance(cost.name) ? `The ${called(cost.name)} in them is ${percent(cost.mean[0])}, with a bound of ${amount(cost.name, plan.bounds[cost.name])}. ` : `The bound on ${cost.name} of ${amount(cost.name, plan.bounds[cost.name])}, which holds on average, was exceeded in ${percent(cost.exceeding[0])} of them; the highest was ${amount(cost.name, cost.greatest, figure)}. `;
  }
  if (outlook.unfinished) text += `${outlook.unfinished} runs were cut off before their end; their costs are higher than shown. `;
  hosts.text.textContent = text;
  const spread = outlook.costs.filter((cost) => !isChance(cost.name));
  hosts.charts.replaceChildren(...spread.map(() => html("figure", {}, html("div", { class: "chart" }), html("figcaption"))));
  spread.forEach((cost, index) => {
    const [host, caption] = hosts.charts.children[index].children;
    const bound = plan.bounds[cost.name] ?? null;
    const shares = cost.counts.map((count) => (100 * count) / outlook.runs);
    const low = cost.edges[0], high = cost.edges[cost.edges.length - 1];
    // Few different values have a bar each, which stands on its value.
    const centres = cost.values ? cost.edges.slice(1).map((edge, bar) => (edge + cost.edges[bar]) / 2) : null;
    const xTicks = centres && centres.filter((_, bar) => bar % Math.ceil(centres.length / 6) === 0);
    const { picture, px, py, box } = frame(host, { height: 220, left: 44, most: 460, xTicks, xText: given, x: [low, high], y: [0, Math.max(...shares) * (bound === null ? 1.15 : 1.3)], xTitle: `${called(cost.name)} of a run`, yTitle: "% of runs" });
    picture.setAttribute("aria-label", `Distribution of ${called(cost.name)} over simulated runs.`);
    shares.forEach((share, bar) => {
      if (!share) return;
      const [from, to] = [px(cost.edges[bar]), px(cost.edges[bar + 1])];
      const middle = (cost.edges[bar] + cost.edges[bar + 1]) / 2;
      // A single run is still seen.
      const top = Math.min(py(share), box.bottom - 1.5);
      picture.append(svg("rect", { class: bound !== null && middle > bound ? "column over" : "column", x: from + 1, width: Math.max(1, to - from - 2), y: top, height: box.bottom - top },
        svg("title", {}, centres ? `${cost.counts[bar]} runs with ${figure(centres[bar], 2)}` : `${cost.counts[bar]} runs between ${figure(cost.edges[bar], 1)} and ${figure(cost.edges[bar + 1], 1)}`)));
    });
    // Above both lines, so that neither crosses a label.
    const labels = [];
    const mark = (value, name, label, row) => {
      if (value === null || value < low || value > high) return;
      const flip = px(value) > box.right - 90;
      picture.append(svg("line", { class: name, x1: px(value), x2: px(value), y1: box.top, y2: box.bottom }));
      labels.push(svg("text", { class: "plated", x: px(value) + (flip ? -5 : 5), y: box.top + 10 + 15 * row, "text-anchor": flip ? "end" : "start" }, label));
    };
    mark(plan.costs[cost.name], "mean", `expected ${beside(plan.costs[cost.name], bound, 2)}`, 0);
    if (bound !== null) mark(bound, "limit", `bound ${given(bound)}`, 1);
    picture.append(...labels);
    caption.textContent = capital(called(cost.name)) + (bound === null ? "." : ": runs above the bound are hatched the other way.");
  });
  hosts.table.replaceChildren(table(
    ["cost of a run", "exact mean", "simulated mean (95% interval)", "half of the runs: at most", "95 of 100: at most", "99 of 100: at most", "highest", "above the bound (95% interval)"],
    outlook.costs.map((cost) => isChance(cost.name) ? [called(cost.name), amount(cost.name, plan.costs[cost.name], figure),
      cost.mean[0] === null ? "–" : `${percent(cost.mean[0])} (${percent(cost.mean[1])} to ${percent(cost.mean[2])})`, "–", "–", "–", "–", "–"] : [called(cost.name), beside(plan.costs[cost.name], plan.bounds[cost.name]),
      cost.mean[0] === null ? "–" : (([mean, low, high]) => `${mean} (${low} to ${high})`)(apart(cost.mean)),
      figure(cost.percentiles[1], 2), figure(cost.percentiles[2], 2), figure(cost.percentiles[3], 2), figure(cost.greatest, 2),
      cost.exceeding ? `${percent(cost.exceeding[0])} (${percent(cost.exceeding[1])} to ${percent(cost.exceeding[2])})` : "no bound"])));
}

// Shares below this part of the largest are counted and not drawn.
const SMALL_SHARE = 1e-3;
// Bars of less than these pixels show nothing: then their figures stand above them.
const SHORT_BAR = 120;

function drawBudgets(host, plan) {
  host.replaceChildren(...data.problem.constraints.map((name) => drawBudget(host, plan, name)));
}

function drawBudget(host, plan, name) {
  const bound = plan.bounds[name], used = plan.costs[name];
  const all = plan.activities.map((share, index) => ({ index, name: data.problem.activities[index].name, value: share.usage[name], allocated: share.allocated[name] ?? null, executions: share.executions }))
    .filter((share) => share.value !== undefined && share.executions > 0).sort((a, b) => b.value - a.value);
  const total = Math.max(used, ...all.map((share) => share.allocated ?? 0), 0);
  const rows = all.filter((share) => Math.max(share.value, share.allocated ?? 0) > SMALL_SHARE * total), hidden = all.length - rows.length;
  const left = bound === null ? null : bound - used, price = plan.prices ? plan.prices[name] : null;
  const words = `${capital(expectedOf(name))}: ${isChance(name) ? amount(name, used, figure) : withUnit(data, name, beside(used, bound))}`
    + (bound === null ? ", no bound." : `, bound ${amount(name, bound)}, ${Math.abs(left) <= 1e-9 * bound ? "all of it used" : left < 0 ? "exceeded by " + amount(name, -left, figure) : amount(name, left, figure) + " left"}.`)
    + (price ? ` Price: about ${amount(primary, isChance(name) ? price / 100 : price, (value) => figure(value, 3))} of ${primary} ${greatest ? "gained" : "saved"} for each ${isChance(name) ? "percent" : data.problem.units[name] ?? "unit"} more, for randomised policies.` : price === 0 && bound !== null ? ` More of it would ${greatest ? "gain" : "save"} nothing.` : bound === 0 ? " A bound of 0 has no price." : "");
  const allocates = rows.some((row) => row.allocated !== null);
  const width = widthOf(host, 860), names = Math.min(230, width * 0.36), figuresWide = allocates ? 270 : 150, stacked = width - names - figuresWide < SHORT_BAR;
  const label = stacked ? 0 : names, line = stacked ? 42 : 24, above = stacked ? 17 : 0;
  const most = Math.max(bound ?? 0, ...rows.map((row) => Math.max(row.value, row.allocated ?? 0)), 1e-12);
  const scale = (value) => (value / most) * (width - label - (stacked ? 2 : figuresWide));
  const picture = svg("svg", { viewBox: `0 0 ${width} ${rows.length * line + 30}`, width, height: rows.length * line + 30, role: "img", "aria-label": `How ${name} is spread over the activities; the table of activities has the figures.` });
  if (bound !== null && bound > 0) {
    // Below the bars, so that it crosses no figure.
    const x = label + scale(bound);
    picture.append(svg("line", { class: "limit", x1: x, x2: x, y1: 0, y2: rows.length * line + 4 }));
  }
  rows.forEach((row, at) => {
    const y = at * line + 4 + above, figures = `${amount(name, row.value, figure)}${bound ? ` (${percent(row.value / bound)})` : ""}${row.allocated === null ? "" : `, allocated ${amount(name, row.allocated, figure)}`}`;
    // A figure that the line of the bound would cross stands behind it.
    const end = label + scale(Math.max(row.value, row.allocated ?? 0)) + 6, limit = bound ? label + scale(bound) : -1;
    const behind = end <= limit && limit <= end + 7 * figures.length && limit + 6 + 7 * figures.length <= width;
    const called = stacked ? { x: 0, y: y - 5 } : { x: label - 8, y: y + 13, "text-anchor": "end" }, room = stacked ? width / 7 - figures.length - 1 : label / 7;
    const counted = stacked ? { x: width, y: y - 5, "text-anchor": "end" } : { x: behind ? limit + 6 : end, y: y + 13 };
    picture.append(svg("g", { "data-activity": row.index }, svg("text", called, svg("title", {}, row.name), shortened(row.name, room)),
      svg("rect", { class: "column", x: label, y, width: Math.max(row.value > 0 ? 1 : 0, scale(row.value)), height: 16 }),
      row.allocated === null ? "" : svg("rect", { class: "allocated", x: label, y: y - 1, width: scale(row.allocated), height: 18 }),
      svg("text", { class: "plated", ...counted }, figures)));
  });
  if (bound !== null && bound > 0) picture.append(svg("text", { x: label + scale(bound) + (stacked ? 0 : 4), y: rows.length * line + 20, "text-anchor": stacked && scale(bound) < width / 2 ? "start" : "end" }, `bound: ${amount(name, bound)}`));
  const rest = hidden ? html("p", { class: "help" }, `${rows.length ? `${hidden} more below 0.1% of the total` : "No activity uses it"}.`) : null;
  return html("div", { class: "bars" }, html("p", {}, words), allocates ? html("p", {}, "Bars show the use, and dashed frames the budget that the method allocated, for all executions together.") : "", rows.length ? picture : all.length ? "" : html("p", {}, "No executed activity counts here."), rest ?? "");
}
