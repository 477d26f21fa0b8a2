// Elements, figures as texts, and scales: what every part of the page draws with.

// What the page shows. That of a report stands in the page; another page takes its own, whenever that changes.
let data = null, primary = "", greatest = false, worse = "below";
function use(model) {
  data = model;
  ({ primary, greatest } = model.problem);
  worse = greatest ? "above" : "below";
}
if (document.getElementById("data")) use(JSON.parse(document.getElementById("data").textContent));
// A cost with its unit, where there is one.
const called = (name) => data.problem.called[name] ?? name;
// A probability is shown as a percentage.
const isChance = (name) => data.problem.probabilities.includes(name);
const expectedOf = (name) => (isChance(name) ? called(name) : `expected ${name}`);
const TRACE = 1e-9, TRACE_WORDS = "< 1e-9";
const withUnit = (model, name, text) => (model.problem.units?.[name] && text !== "–" && text !== "no bound" ? `${text} ${model.problem.units[name]}` : text);
// A figure with its unit; of a probability as a percentage.
const amount = (name, value, words = given) => (value === null || value === undefined ? words(value ?? null) : !isChance(name) ? withUnit(data, name, words(value))
  : value > 0 && value < TRACE ? TRACE_WORDS : `${words(Number((100 * value).toPrecision(12)))}%`);
// For the columns of a table, whose head has the unit.
const inColumn = (name, value) => (isChance(name) ? amount(name, value ?? null, figure) : figure(value));
// Taken from the page, since it is written like an address and the page names none.
const SVG = document.querySelector("svg").namespaceURI;
const byId = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const html = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

// A computed figure: nearly two is not two, and a trace is not nothing. As figures.py has it.
function figure(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < TRACE) return value > 0 ? TRACE_WORDS : `> −1e-9`;
  // Zeros would make a column wide.
  if (size < 1e-6) return String(Number(value.toPrecision(digits)));
  // Six digits that mean something are enough, unless more are asked for.
  if (digits <= 4 && size >= 100 && size < 1e15) value = Number(value.toPrecision(6));
  if (digits <= 4 && size >= 100 && size < 1e6 && !Number.isInteger(value)) return value.toFixed(Math.min(digits, 6 - Math.trunc(size).toString().length));
  if (size >= 1e15) return String(Number(value.toPrecision(digits)));
  if (Number.isInteger(value)) return String(value);
  const text = value.toFixed(decimals(value, digits)), point = text.indexOf(".");
  return text.slice(0, point + 1 + Math.max(digits, text.replace(/0+$/, "").length - point - 1));
}
// A small figure keeps as many digits that mean something.
const decimals = (value, digits) => (value === 0 ? digits : Math.max(digits, Math.min(15, digits - 1 - Math.floor(Math.log10(Math.abs(value))))));
// Digits enough for a figure not to look like its bound unless it is.
function beside(value, bound, least = 4) {
  if (bound === null || bound === undefined || value === null) return figure(value, least);
  if (Math.abs(value - bound) <= 1e-9 * Math.abs(bound)) return given(bound);
  for (let digits = least; digits < 12; digits++) if (Number(figure(value, digits)) !== bound) return figure(value, digits);
  return figure(value, 12);
}
// Figures with as many digits as they need to differ.
function apart(values, digits = 2) {
  const different = new Set(values).size;
  while (digits < 8 && new Set(values.map((value) => Number(figure(value, digits)))).size < different) digits++;
  return values.map((value) => figure(value, digits));
}
const shortened = (text, most = 40) => (text.length <= most ? text : text.slice(0, Math.max(1, most - 1)) + "…");
// A figure that was given.
const given = (value) => (value === null ? "no bound" : String(Number(value.toPrecision(9))));
// Bounds are rounded to the safe side.
function directed(value, least, round) {
  if (Math.abs(value) >= 1e9) return String(Number(value.toPrecision(12)));
  const digits = decimals(value, least), power = 10 ** digits;
  return (round(value * power) / power).toFixed(digits);
}
const roundedDown = (value, digits = 4) => (value === null ? "–" : directed(value, digits, Math.floor));
const roundedUp = (value, digits = 4) => (value === null ? "–" : directed(value, digits, Math.ceil));
const percent = (share) => {
  if (share === 0) return "0%";
  const value = 100 * share;
  return share < TRACE ? TRACE_WORDS : value < 0.0001 ? "< 0.0001%" : value < 0.01 ? value.toFixed(4) + "%" : value.toFixed(value < 10 ? 2 : 1) + "%";
};
const times = (count) => (Math.abs(count - 1) < 1e-9 ? "once" : figure(count) + " times");
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const gapOf = (plan) => (plan.limit === null || plan.own === null ? null : Math.max(0, (data.problem.greatest ? plan.limit - plan.own : plan.own - plan.limit) / Math.abs(plan.own) || 0));
const roundedLimit = (value) => (data.problem.greatest ? roundedUp : roundedDown)(value);
const OPTIMAL = 1e-6;
const qualityOf = (plan) => { const gap = gapOf(plan); return gap === null ? "unknown" : gap <= OPTIMAL ? "optimal" : `within ${percent(gap)}`; };

// Round numbers that cover a range.
function ticks(low, high, count) {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= rough * 0.999);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

// Charts are drawn for the width they have; on paper that is the width of the page.
const PAPER = 660;
let printing = false;

// A frame with axes: answers with the drawing and how values become pixels.
const widthOf = (host, most) => (printing ? Math.min(most, PAPER) : Math.max(300, Math.min(most, host.clientWidth || PAPER)));
function frame(host, { height, x, y, xTitle, yTitle, left = 64, most = 960, xTicks = null, yTicks = null, xText = String, yText = String }) {
  const width = widthOf(host, most), across = yTicks ?? ticks(y[0], y[1], 5);
  // Long figures need room, or their first digits would be cut off.
  left = Math.min(width / 2, Math.max(left, 12 + 7 * Math.max(...across.map((tick) => yText(tick).length))));
  const box = { left, right: width - 14, top: 22, bottom: height - 42 };
  const px = (value) => box.left + ((value - x[0]) / (x[1] - x[0] || 1)) * (box.right - box.left);
  const py = (value) => box.bottom - ((value - y[0]) / (y[1] - y[0] || 1)) * (box.bottom - box.top);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
  for (const tick of across) {
    picture.append(svg("line", { class: "gridline", x1: box.left, x2: box.right, y1: py(tick), y2: py(tick) }),
      svg("text", { x: box.left - 7, y: py(tick) + 4, "text-anchor": "end", class: "faint" }, yText(tick)));
  }
  // Of figures that would overlap only the first is written.
  let written = -Infinity;
  for (const tick of xTicks ?? ticks(x[0], x[1], Math.max(3, Math.floor(width / 110)))) {
    picture.append(svg("line", { class: "axis", x1: px(tick), x2: px(tick), y1: box.bottom, y2: box.bottom + 5 }));
    const text = xText(tick), half = 3.5 * text.length;
    if (px(tick) - half < written + 4) continue;
    written = px(tick) + half;
    picture.append(svg("text", { x: px(tick), y: box.bottom + 19, "text-anchor": "middle", class: "faint" }, text));
  }
  picture.append(svg("line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }),
    svg("text", { x: box.right, y: height - 6, "text-anchor": "end" }, shortened(xTitle, width / 7.5)),
    svg("text", { x: 2, y: 13 }, shortened(yTitle, width / 7.5)));
  host.replaceChildren(picture);
  return { picture, px, py, box, width, height };
}
const polyline = (points) => points.map(([x, y], at) => `${at ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`).join("");

// A table whose rows are sorted by a column when its head is chosen; rows may carry a class and an activity.
function table(head, rows, foot = null) {
  const cells = (row, tag) => row.map((cell, at) => {
    const content = cell instanceof Node || typeof cell !== "object" ? cell : cell.content;
    const attributes = cell && cell.text ? { class: "text" } : {};
    if (tag === "th" && rows.length > 2) return html("th", { ...attributes, scope: "col" }, html("button", { type: "button", class: "sort", title: "sort", onclick: () => sort(at) }, content));
    return at === 0 && tag === "td" ? html("th", { scope: "row" }, content) : html(tag, { ...attributes, ...(tag === "th" ? { scope: "col" } : {}) }, content);
  });
  const top = html("tr", {}, cells(head, "th"));
  const body = html("tbody", {}, rows.map((row) => html("tr", { class: row.className, "data-activity": row.activity }, cells(row, "td"))));
  const sort = (column) => {
    const heads = [...top.children], down = heads[column].getAttribute("aria-sort") !== "descending";
    heads.forEach((each, at) => (at === column ? each.setAttribute("aria-sort", down ? "descending" : "ascending") : each.removeAttribute("aria-sort")));
    const text = (row) => row.children[column].textContent, value = (row) => (text(row) === "once" ? 1 : text(row).startsWith("<") ? 1e-12 : parseFloat(text(row)));
    const order = (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) && Number.isNaN(y) ? text(b).localeCompare(text(a), "en", { numeric: true }) : Number.isNaN(x) - Number.isNaN(y);
      return y - x;
    };
    body.append(...[...body.children].sort((a, b) => (down ? order(a, b) : order(b, a))));
  };
  return html("table", {}, html("thead", {}, top), body, foot ? html("tfoot", {}, html("tr", {}, cells(foot, "td"))) : null);
}
