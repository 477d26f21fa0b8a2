// A site whose activities are lines: each level with its walls, doors, lifts and stops, and how often the plan takes each way.

// Lengths are metres; the y axis of a site goes upwards.
const pairs = (line) => line.flatMap((x, at) => (at % 2 ? [] : [[x, -line[at + 1]]]));
const middle = (line) => pairs(line).reduce(([x, y], [left, top], _, all) => [x + left / all.length, y + top / all.length], [0, 0]);

// Opposite ways lie beside each other: each is moved a little to its right.
function moved(points, by) {
  const [first, last] = [points[0], points[points.length - 1]], length = Math.hypot(last[0] - first[0], last[1] - first[1]) || 1;
  return points.map(([x, y]) => [x - (by * (last[1] - first[1])) / length, y + (by * (last[0] - first[0])) / length]);
}

function drawSite(host, levels, activities, plan, choose) {
  host.replaceChildren(...levels.map((level) => {
    const lines = [...level.walls, ...["doors", "lifts", "places"].flatMap((key) => Object.values(level[key])), ...level.paths.map((path) => path.line)];
    const all = lines.flatMap(pairs), [xs, ys] = [0, 1].map((axis) => all.map((point) => point[axis]));
    const [left, top] = [Math.min(...xs), Math.min(...ys)], [width, height] = [Math.max(...xs) - left || 1, Math.max(...ys) - top || 1];
    // The unit is a hundredth of the larger side: widths of lines and letters do not depend on the size of the site.
    const unit = Math.max(width, height) / 100, edge = 6 * unit;
    const line = (kind, points, name) => svg("polyline", { class: kind, points: points.map((point) => point.join(",")).join(" ") }, name ? svg("title", {}, name) : null);
    const label = (name, [x, y]) => svg("text", { class: "site-name", x, y: y - 2.2 * unit, "font-size": 2.6 * unit, "stroke-width": 0.8 * unit }, shortened(name, 24));
    const ways = level.paths.map((path) => {
      const counts = path.activities.map((index) => plan.activities[index].executions), executions = counts.reduce((sum, each) => sum + each, 0);
      const busiest = path.activities[counts.indexOf(Math.max(...counts))];
      return { points: moved(pairs(path.line), 0.7 * unit), executions, busiest, activities: path.activities };
    }).sort((a, b) => a.executions - b.executions);
    const drawn = ways.map(({ points, executions, busiest, activities: all }) => {
      const name = `${activities[busiest].name}: ${executions > 0 ? times(executions) : "never"}`;
      const way = line(executions > 0 ? "way taken" : "way", points, name);
      way.setAttribute("stroke-width", executions > 0 ? Math.max(0.35, 1.3 * Math.sqrt(Math.min(1, executions))) * unit : 0.25 * unit);
      way.dataset.activities = all.join(" ");
      if (executions > 0) fill(way, { tabindex: 0, role: "button", "aria-label": name, onclick: () => choose(busiest), onkeydown: (event) => { if (event.key === "Enter") choose(busiest); } }, []);
      return way;
    });
    const picture = svg("svg", { viewBox: `${left - edge} ${top - edge} ${width + 2 * edge} ${height + 2 * edge}`, role: "group", "aria-label": `Level ${level.name}` },
      level.walls.map((wall) => line("site-wall", pairs(wall))), drawn,
      Object.entries(level.doors).map(([name, door]) => line("site-door", pairs(door), name)),
      Object.entries(level.lifts).map(([name, at]) => [svg("rect", { class: "site-lift", x: at[0] - 1.5 * unit, y: -at[1] - 1.5 * unit, width: 3 * unit, height: 3 * unit }, svg("title", {}, name)), label(name, middle(at))]),
      Object.entries(level.places).map(([name, at]) => [svg("circle", { class: "site-stop", cx: at[0], cy: -at[1], r: 1.2 * unit }, svg("title", {}, name)), label(name, middle(at))]));
    picture.style.setProperty("--site-unit", unit);
    return html("figure", {}, picture, html("figcaption", {}, level.name));
  }));
}
