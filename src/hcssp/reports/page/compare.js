// Two plans side by side, with a map of where they differ; and what can be saved to a file.

function drawComparison(hosts, model, plans, [first, second], title) {
  const [one, other] = [plans[first], plans[second]], difference = (a, b) => (a === null || b === null ? "–" : a === b ? "0" : `${b > a ? "+" : "−"}${figure(Math.abs(b - a))}`);
  const named = (index) => title(plans[index], index);
  const rows = [model.problem.primary, ...model.problem.constraints].map((name) => [expectedOf(name), amount(name, one.costs[name], figure), amount(name, other.costs[name], figure), isChance(name) ? difference(100 * one.costs[name], 100 * other.costs[name]) : difference(one.costs[name], other.costs[name])]);
  rows.push(["quality", ...[one, other].map(qualityOf), ""]);
  model.problem.activities.forEach((activity, index) => {
    const [a, b] = [one.activities[index].executions, other.activities[index].executions];
    if (Math.abs(a - b) > 1e-6) rows.push(Object.assign([`${activity.name}: executed`, figure(a), figure(b), difference(a, b)], { activity: index }));
  });
  model.problem.choices.forEach((choice, index) => {
    const [a, b] = [one.choices[index], other.choices[index]];
    const made = (count, condition) => ({ text: true, content: count > 0 ? condition || "always" : "never" });
    if ((a > 0) !== (b > 0)) rows.push([`${model.problem.events[choice.event]}: ${choice.name}`, made(a, one.conditions[index]), made(b, other.conditions[index]), ""]);
  });
  hosts.table.replaceChildren(table(["", { text: true, content: named(first) }, { text: true, content: named(second) }, "difference"], rows));
  const { width, height, panels } = model.sheet, grids = panels.filter((panel) => panel.grid);
  const stride = Math.max(1, Math.ceil(Math.max(width, height) / 60));
  const drawn = (words, draw) => {
    const picture = svg("svg", { viewBox: `-1 -1 ${width + 2} ${height + 2}`, role: "img", "aria-label": words }, grids.map((panel) => [drawRoom(model, panel, false), draw(panel)]));
    picture.style.setProperty("--unit", (width + 2) / 400);
    return html("figure", {}, picture, html("figcaption", {}, words));
  };
  const cells = (plan, panel) => visited(model, plan, panel.activities);
  hosts.maps.replaceChildren(...(grids.length ? [
    drawn(named(first), (panel) => drawCells(model, panel, cells(one, panel), false, stride)),
    drawn(named(second), (panel) => drawCells(model, panel, cells(other, panel), false, stride)),
    drawn("The difference. Pink: visited more often by the first plan; blue: by the second. A white square: another heading.", (panel) => [drawHazards(model, panel, false), drawDifference(panel, cells(one, panel), cells(other, panel))]),
  ] : []));
}

function save(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  html("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

// A table of the page as CSV: what it shows, with quotes where a cell needs them.
const csvOf = (element) => [...element.rows].map((row) => [...row.cells].map((cell) => (/[",\n]/.test(cell.textContent) ? `"${cell.textContent.replaceAll('"', '""')}"` : cell.textContent)).join(",")).join("\r\n") + "\r\n";

// A drawing of the page as PNG: a copy that carries its style, painted on a canvas.
const PAINTED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "paint-order", "font-size", "font-weight", "font-family", "text-anchor", "dominant-baseline", "display"];
function pngOf(element, scale = 2) {
  const { width, height } = element.getBoundingClientRect(), copy = element.cloneNode(true);
  const originals = element.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((each, index) => {
    const style = getComputedStyle(originals[index]);
    for (const name of PAINTED) each.style.setProperty(name, style.getPropertyValue(name));
  });
  fill(copy, { xmlns: SVG, width, height }, []);
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  return picture.decode().then(() => new Promise((done) => {
    const canvas = html("canvas", { width: width * scale, height: height * scale }), context = canvas.getContext("2d");
    context.fillStyle = getComputedStyle(document.body).backgroundColor;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(picture, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(done, "image/png");
  }));
}
