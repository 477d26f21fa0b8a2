// What is known of a cell, beside the pointer; and what belongs together on the page stands out together.

// The part of a plan that is packed: its file, and the figures of its cells. Unpacked when it is first asked for.
const unpacked = new WeakMap();
function unpack(plan) {
  if (!unpacked.has(plan)) {
    const bytes = Uint8Array.from(atob(plan.more), (letter) => letter.charCodeAt(0));
    unpacked.set(plan, new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json());
  }
  return unpacked.get(plan);
}

// Figures of cells are written as differences from cell to cell, in a unit.
const summed = new WeakMap();
function figureOf(written, position) {
  if (!summed.has(written)) {
    let sum = 0;
    summed.set(written, written[1].map((each) => (sum += each)));
  }
  return (summed.get(written)[position] ?? 0) * written[0];
}

const names = (model) => [model.problem.primary, ...model.problem.constraints];

function cellWords(model, cell, more) {
  const { panel, by } = cell, rows = [], order = [...by].sort((a, b) => b.visits - a.visits), busiest = order[0];
  const [figures, actions] = more ? more.cells[busiest.activity][busiest.number] : [null, {}];
  const costs = (offset) => names(model).map((name, index) => [name, figureOf(figures[offset + index], busiest.position)]).filter(([, value]) => value !== 0)
    .map(([name, value]) => `${shortened(name, 24)} ${withUnit(model, name, figure(value, 3))}`).join(", ") || "nothing";
  const hazard = hazardCells(panel).get(`${cell.x},${cell.y}`), activity = model.problem.activities[busiest.activity];
  rows.push(["activity", activity.name + (busiest.part ? `, ${busiest.part}` : "")], ["action", actions[busiest.position] ?? HEADINGS[busiest.heading]],
    ["visits", figure(busiest.visits, 3) + (order.length > 1 ? ` of ${figure(cell.visits, 3)}` : "")]);
  if (figures) rows.push(["cost here", costs(0)], ["cost-to-go", costs(names(model).length)]);
  if (hazard) rows.push(["hazard", `${hazardWords(model, hazard)} a step`]);
  if (order.length > 1) {
    const others = order.slice(1, 4).map((each) => `${model.problem.activities[each.activity].name}${each.part ? `, ${each.part}` : ""} (${HEADINGS[each.heading]}, ${figure(each.visits, 3)} visits)`);
    rows.push(["also", [...others, ...(order.length > 4 ? [`${order.length - 4} more`] : [])].join("; ")]);
  }
  const room = panel.onMap || panel.activities.length > 1 ? panel.title : "";
  return [html("strong", {}, [cell.events.join(", "), `${room ? `${room}, ` : ""}cell (${cell.x}, ${cell.y})`].filter(Boolean).join(": ")),
    html("dl", { class: "facts" }, rows.map(([term, value]) => [html("dt", {}, term), html("dd", {}, value)]))];
}

// Shows a cell beside it, wherever there is room; `light` is called with the activity that stands out.
class Tooltip {
  constructor(element, model, light) {
    Object.assign(this, { element, model, light });
  }

  show(plan, cell) {
    this.cell = cell;
    this.element.hidden = !cell;
    this.light(cell ? cell.by.reduce((best, each) => (each.visits > best.visits ? each : best)).activity : null);
    if (!cell) return;
    this.write(cell, null);
    unpack(plan).then((more) => { if (this.cell === cell) this.write(cell, more); });
  }

  write(cell, more) {
    this.element.replaceChildren(...cellWords(this.model, cell, more));
    const { width, height } = this.element.getBoundingClientRect(), { box } = cell, edge = 8;
    const left = box.right + edge + width < innerWidth ? box.right + edge : Math.max(edge, box.left - edge - width);
    const beside = left >= box.right || left + width <= box.left;
    const top = beside ? box.top + box.height / 2 - height / 2 : box.bottom + edge + height < innerHeight ? box.bottom + edge : box.top - edge - height;
    this.element.style.left = `${left}px`;
    this.element.style.top = `${Math.max(edge, Math.min(top, innerHeight - height - edge))}px`;
  }
}

// Everything that is about an activity carries its number; pointing at one of them lights all.
function linkActivities(root, light) {
  let lit = null;
  const show = (activity) => {
    if (activity === lit) return;
    lit = activity;
    root.querySelectorAll(".lit").forEach((element) => element.classList.remove("lit"));
    if (activity !== null) root.querySelectorAll(`[data-activity="${activity}"]`).forEach((element) => element.classList.add("lit"));
  };
  for (const kind of ["pointerover", "focusin"]) root.addEventListener(kind, (event) => {
    const found = event.target.closest?.("[data-activity]");
    if (event.target.closest?.(".sheet")) return;
    const activity = found ? Number(found.dataset.activity) : null;
    if (activity !== lit) light(activity);
    show(activity);
  });
  return show;
}
