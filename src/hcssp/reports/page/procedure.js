// The procedure as a graph; its layout comes with the data, what is chosen with the plan.

const EDGE = 14;

function shape(node) {
  const { x, y, width, height } = node, left = x - width / 2, top = y - height / 2;
  if (node.kind === "chance") {
    const point = Math.min(14, width / 4);
    return svg("polygon", { points: `${left},${y} ${left + point},${top} ${left + width - point},${top} ${left + width},${y} ${left + width - point},${top + height} ${left + point},${top + height}` });
  }
  const box = svg("rect", { x: left, y: top, width, height, rx: node.kind === "event" ? height / 2 : 3 });
  const double = node.kind === "use" || (node.kind === "event" && data.problem.choices.filter((choice) => choice.event === node.index).length > 1);
  return double ? [box, svg("rect", { class: "inner", x: left + 3, y: top + 3, width: width - 6, height: height - 6, rx: node.kind === "event" ? height / 2 - 3 : 2 })] : box;
}

// From below one node to above the next, through the points between; a way back bulges to the side.
function curve(way) {
  const { nodes } = graphShown(), tail = nodes[way.tail], head = nodes[way.head];
  if (way.back) {
    const side = Math.max(tail.x + tail.width / 2, head.x + head.width / 2) + 40;
    return { d: `M${tail.x + tail.width / 2} ${tail.y}C${side} ${tail.y} ${side} ${head.y} ${head.x + head.width / 2 + 6} ${head.y}`, tip: [head.x + head.width / 2 + 6, head.y, -1, 0], at: [side - 12, (tail.y + head.y) / 2] };
  }
  const points = way.points.map((point) => [...point]);
  points[0][1] += tail.height / 2;
  const last = points[points.length - 1];
  last[1] -= head.height / 2 + 6;
  // Upright at both ends, and in between along the line from the point before to the one after.
  const slope = points.map(([x, y], at) => {
    const before = points[at - 1], after = points[at + 1];
    if (!before || !after) return [0, Math.abs(y - (before ?? after)[1]) * 1.5];
    return [(after[0] - before[0]) / 2, (after[1] - before[1]) / 2];
  });
  let d = `M${points[0][0]} ${points[0][1]}`;
  for (let at = 1; at < points.length; at++) {
    const [ax, ay] = points[at - 1], [bx, by] = points[at], [ux, uy] = slope[at - 1], [vx, vy] = slope[at];
    d += `C${ax + ux / 3} ${ay + uy / 3} ${bx - vx / 3} ${by - vy / 3} ${bx} ${by}`;
  }
  const [ax, ay] = points[0], [bx, by] = points[1];
  return { d, tip: [last[0], last[1], 0, 1], at: [(ax + bx) / 2, (ay + by) / 2] };
}

const tip = ([x, y, right, down]) => `${x + 6 * right},${y + 6 * down} ${x - 4.5 * down - 1 * right},${y - 1 * down - 4.5 * right} ${x + 4.5 * down - 1 * right},${y - 1 * down + 4.5 * right}`;

// On a narrow screen the drawing is wider than its place: it begins where the procedure does, and says that it goes on.
let shownStart = false;
function showStart(hosts) {
  const host = hosts.graph.parentElement, start = graphShown().nodes.find((node) => node.kind === "event" && node.index === startShown());
  hosts.hint.hidden = host.scrollWidth <= host.clientWidth + 1;
  if (shownStart || !start || !host.clientWidth) return;
  shownStart = true;
  host.scrollLeft = start.x + EDGE - host.clientWidth / 2;
}

// Labels of ways that leave one place would lie on each other: they give way to the sides.
function keepApart(labels, nodes) {
  for (let round = 0; round < 8; round++) {
    // Nor do they lie below a box that their way passes.
    for (const label of labels) {
      nodes.forEach((node, index) => {
        const [x, y] = label.at, across = label.half + node.width / 2 + 2 - Math.abs(x - node.x), down = 9.5 + node.height / 2 - Math.abs(y - node.y);
        if (index === label.tail || index === label.head || across <= 0 || down <= 0) return;
        if (down <= across) label.at[1] += y < node.y ? -down : down;
        else label.at[0] += x < node.x ? -across : across;
      });
    }
    labels.forEach((one, index) => labels.slice(index + 1).forEach((other) => {
      const dx = other.at[0] - one.at[0], missing = one.half + other.half + 2 - Math.abs(dx);
      if (Math.abs(other.at[1] - one.at[1]) >= 17 || missing <= 0) return;
      const step = (dx < 0 ? -missing : missing) / 2;
      one.at[0] -= step;
      other.at[0] += step;
    }));
  }
}

//   choose: is called with the activity that is chosen, open: with the procedure inside this one, about: with an event
function drawProcedure(hosts, plan, selected, { choose, open, about = null }) {
  const { width, height, nodes, ways } = graphShown();
  const backwards = ways.some((way) => way.back) ? 60 : 0;
  const picture = svg("svg", { viewBox: `${-EDGE} ${-EDGE} ${width + 2 * EDGE + backwards} ${height + 2 * EDGE}`, width: width + 2 * EDGE + backwards, height: height + 2 * EDGE,
    role: "img", "aria-label": "The procedure; the table below lists the choices." });
  const made = (choice) => plan.choices[choice] > 0;
  const events = new Set([data.problem.start]);
  data.problem.choices.forEach((choice, index) => {
    if (made(index)) { events.add(choice.event); choice.outcomes.forEach((outcome) => outcome.events.forEach((event) => events.add(event))); }
  });
  const labels = [];
  // What is not chosen lies below.
  for (const way of [...ways].sort((a, b) => made(a.choice) - made(b.choice))) {
    const chosen = made(way.choice) ? " chosen" : "", drawn = curve(way);
    picture.append(svg("path", { class: "way" + chosen, d: drawn.d }), svg("polygon", { class: "tip" + chosen, points: tip(drawn.tip) }));
    if (way.label) labels.push({ ...way, chosen, half: 3.6 * way.label.length + 4, at: [...drawn.at] });
  }
  // On plates of their own, so that no line crosses a label.
  keepApart(labels, nodes);
  for (const { label, chosen, half, at: [x, y] } of labels) {
    picture.append(svg("rect", { class: "plate", x: x - half, y: y - 8.5, width: 2 * half, height: 17, rx: 3 }),
      svg("text", { class: "way-label" + chosen, x, y, "data-room": 2 * half - 4 }, label));
  }
  for (const node of nodes) {
    const use = node.kind === "use", activity = node.kind === "activity" || use;
    const share = use ? useShare(plan, node.index) : activity ? plan.activities[node.index] : null;
    const on = activity ? share.executions > 0 : node.kind === "event" ? events.has(node.index) : made(node.index);
    const classes = ["node", node.kind, on ? "chosen" : "", node.kind === "activity" && node.index === selected ? "selected" : ""].join(" ");
    const figures = activity && on ? `${times(share.executions)}, ${data.problem.units[primary] ? "" : shortened(primary, 16) + " "}${amount(primary, share.cost / share.executions, (value) => figure(value, 2))}${Math.abs(share.executions - 1) < 1e-9 ? "" : " each"}` : "never executed";
    // Figures with many digits are set closer, so that they stay in their box.
    const fits = 5.9 * figures.length <= node.width - 8 ? {} : { textLength: node.width - 12, lengthAdjust: "spacingAndGlyphs" };
    const room = { "data-room": node.width - (node.kind === "event" ? 16 : 10) };
    const lines = activity
      ? [svg("text", { x: node.x, y: node.y - 8, ...room }, node.label), svg("text", { class: "figures", x: node.x, y: node.y + 8, ...fits }, figures)]
      : [svg("text", { x: node.x, y: node.y, ...room }, node.label)];
    const isEvent = node.kind === "event" && about !== null, act = use ? () => open(node.index) : isEvent ? () => about(node.index) : () => choose(node.index);
    const extra = (activity && (on || use)) || isEvent ? { tabindex: 0, role: "button", "aria-label": use ? `Open ${node.label}` : isEvent ? `Event ${node.label}` : `Show ${node.label} on the map`, onclick: act,
      onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); act(); } } } : {};
    if (use) lines.push(svg("text", { class: "opens", x: node.x + node.width / 2 - 12, y: node.y - 8 }, "⤢"));
    picture.append(svg("g", { class: classes, "data-activity": node.kind === "activity" ? node.index : null, "data-event": node.kind === "event" ? node.index : null, ...extra }, svg("title", {}, node.name ?? node.label), shape(node), lines));
  }
  hosts.graph.replaceChildren(picture);
  // Names of wide letters are set closer, so that they stay in their box.
  for (const text of picture.querySelectorAll("[data-room]")) {
    if (text.getComputedTextLength() > Number(text.dataset.room)) fill(text, { textLength: text.dataset.room, lengthAdjust: "spacingAndGlyphs" }, []);
  }
  showStart(hosts);
  const conditional = plan.conditions.some((each) => each);
  const rows = data.problem.choices.map((choice, index) => ({ choice, index })).filter(({ choice, index }) => isShownChoice(index) && made(index) && data.problem.choices.some((other) => other !== choice && other.event === choice.event))
    .map(({ choice, index }) => {
      const others = data.problem.choices.filter((other) => other !== choice && other.event === choice.event).map((other) => other.name);
      const when = conditional ? [{ text: true, content: plan.conditions[index] || "always" }] : [];
      return [data.problem.events[choice.event], ...when, { text: true, content: choice.name }, { text: true, content: others.join(", ") }, times(plan.choices[index])];
    });
  hosts.choices.replaceChildren(rows.length
    ? table(["at the event", ...(conditional ? [{ text: true, content: "when" }] : []), { text: true, content: "the plan chooses" }, { text: true, content: "rather than" }, "expected"], rows)
    : html("p", {}, "Every reached event has only one choice."));
}
