// The sheet of rooms: walls, hazards, where the plan goes and how often. Lengths are cells.

const BANDS = [1, 0.1, 0.01, 0.001, 0];
const BAND_NAMES = ["1 or more", "0.1 to 1", "0.01 to 0.1", "0.001 to 0.01", "less"];
const HARDLY = 1e-4;
const STEPS = [[0, -1], [1, 0], [0, 1], [-1, 0], [0, 0]];
// A slender arrow head towards the north, and turned a quarter for each other heading.
const ARROW = [[0, -0.42], [0.3, 0.36], [0, 0.18], [-0.3, 0.36]];
const TURNS = [([x, y]) => [x, y], ([x, y]) => [-y, x], ([x, y]) => [-x, -y], ([x, y]) => [y, -x]];

const decoded = new Map();
function cellsOf(number) {
  if (!decoded.has(number)) {
    const { width, most, cells } = data.grids[number];
    const bytes = Uint8Array.from(atob(cells), (letter) => letter.charCodeAt(0));
    const found = [];
    bytes.forEach((byte, at) => {
      if (byte) found.push({ x: at % width, y: Math.floor(at / width), heading: byte & 3, visits: most * 10 ** (-((63 - (byte >> 2)) * 6) / 62) });
    });
    decoded.set(number, found);
  }
  return decoded.get(number);
}

const bandOf = (visits) => BANDS.findIndex((least) => visits >= least);
const panelOf = (activity) => data.sheet.panels.find((panel) => panel.activities.includes(activity));
const placed = (panel, cell) => [panel.corner[0] + cell[0], panel.corner[1] + cell[1]];

// What is visited in a panel: for each cell the visits of all activities, and the heading of the busiest.
function visited(plan, activities) {
  const found = new Map();
  for (const activity of activities) {
    const share = plan.activities[activity];
    if (!share.executions || share.grid === undefined) continue;
    for (const cell of cellsOf(share.grid)) {
      const visits = cell.visits * share.executions, key = `${cell.x},${cell.y}`, known = found.get(key);
      if (!known) found.set(key, { x: cell.x, y: cell.y, heading: cell.heading, visits, most: visits });
      else {
        known.visits += visits;
        if (visits > known.most) Object.assign(known, { most: visits, heading: cell.heading });
      }
    }
  }
  return [...found.values()];
}

function drawRoom(panel) {
  const [left, top] = panel.corner, { width, height } = panel;
  const group = svg("g", {});
  if (!panel.grid) {
    group.append(svg("rect", { class: "table-box", x: left, y: top, width, height, rx: 1 }));
  } else {
    group.append(svg("rect", { class: "floor", x: left, y: top, width, height }));
    for (const { place: [x, y, w, h], costs } of panel.hazards) {
      group.append(svg("rect", { class: "hazard", x: left + x, y: top + y, width: w, height: h }, svg("title", {}, `hazard: ${costs} a step`)));
    }
    const ring = `M${left} ${top}h${width}v${height}h${-width}ZM${left + 1} ${top + 1}v${height - 2}h${width - 2}v${2 - height}Z`;
    group.append(svg("path", { class: "wall", d: ring }));
    for (const [x, y, w, h] of panel.walls) group.append(svg("rect", { class: "wall", x: left + x, y: top + y, width: w, height: h }));
    for (const [x, y] of panel.openings) group.append(svg("rect", { class: "opening", x: left + x, y: top + y, width: 1, height: 1 }));
  }
  return group;
}

// Inside a room that stands on the map, above a panel by itself.
function roomName(panel) {
  const [left, top] = panel.corner, { width, height } = panel, inside = panel.onMap || !panel.grid;
  // A room by itself needs no name; in a small one it stands in the wall, where it hides no arrows.
  if (panel.grid && data.sheet.panels.length === 1) return svg("g", {});
  const letters = 0.65 * Math.min(60, panel.title.length) + 1;
  if (panel.grid && panel.onMap && Math.min(width, height) < 14) {
    return svg("text", { class: "room-name on-wall", x: left + width / 2, y: top + height - 0.5, "font-size": Math.min(width / letters, 0.7) }, shortened(panel.title, 60));
  }
  const size = Math.min(width / letters, height / 3, inside ? 7 : 2.2);
  return svg("text", { class: panel.grid ? "room-name" : "room-name in-box", x: left + width / 2, y: inside ? top + height * 0.6 : top - 0.7 * size, "font-size": size }, shortened(panel.title, 60));
}

function drawCells(panel, cells, rare, stride) {
  const [left, top] = panel.corner;
  const heat = BANDS.map(() => []), arrows = BANDS.map(() => []);
  for (const cell of cells) {
    if (!rare && cell.visits < HARDLY) continue;
    const band = bandOf(cell.visits), x = left + cell.x, y = top + cell.y;
    heat[band].push(`M${x} ${y}h1v1h-1z`);
    if (cell.x % stride || cell.y % stride) continue;
    const scale = stride * [1, 0.92, 0.8, 0.66, 0.5][band], turn = TURNS[cell.heading];
    arrows[band].push("M" + ARROW.map((point) => turn(point).map((value, axis) => ((axis ? y : x) + 0.5 + value * scale).toFixed(2)).join(" ")).join("L") + "z");
  }
  return [
    svg("g", { class: "heat" }, heat.map((parts, band) => svg("path", { class: `heat-${4 - band}`, d: parts.join("") }))),
    // Shading must not hide what is dangerous.
    ...panel.hazards.map(({ place: [x, y, width, height] }) => svg("rect", { class: "hazard-again", x: left + x, y: top + y, width, height })),
    svg("g", { class: "arrows" }, arrows.map((parts, band) => svg("path", { opacity: [1, 0.95, 0.85, 0.7, 0.5][band], d: parts.join("") }))),
  ];
}

const circle = (x, y, r) => svg("circle", { class: "mark start", cx: x, cy: y, r });
function star(x, y, r) {
  const points = Array.from({ length: 10 }, (_, at) => {
    const radius = at % 2 ? r * 0.45 : r, angle = (at * Math.PI) / 5;
    return `${(x + radius * Math.sin(angle)).toFixed(2)},${(y - radius * Math.cos(angle)).toFixed(2)}`;
  });
  return svg("polygon", { class: "mark goal", points: points.join(" ") });
}
function marks(panel, activity, size) {
  const { starts, goals } = data.problem.activities[activity], middle = (cell) => placed(panel, cell).map((value) => value + 0.5);
  return [...starts.map((cell) => circle(...middle(cell), size)), ...goals.map((cell) => star(...middle(cell), size * 1.45))];
}

// The large map with its view; `select` shows one activity, or all with null.
class Sheet {
  constructor(element) {
    this.element = element;
    this.layers = Object.fromEntries(["rooms", "cells", "names", "hinges", "signs", "tokens"].map((name) => [name, svg("g", { class: name })]));
    element.append(...Object.values(this.layers));
    this.layers.rooms.append(...data.sheet.panels.map(drawRoom));
    this.layers.names.append(...data.sheet.panels.map(roomName));
    this.rare = false;
    this.hinges = [];
    this.listen();
    new ResizeObserver(() => this.fitted()).observe(element);
  }

  get whole() {
    const { width, height } = data.sheet, edge = Math.max(width, height) * 0.02 + 1;
    return [-edge, -edge, width + 2 * edge, height + 2 * edge];
  }

  show(plan, activity) {
    const moved = activity !== this.activity || state.level !== this.level || !this.view;
    this.level = state.level;
    this.plan = plan;
    this.activity = activity;
    if (moved) this.view = this.home();
    this.element.style.aspectRatio = `${this.whole[2]} / ${this.whole[3]}`;
    this.stride = null;
    this.fitted();
  }

  home() {
    if (this.activity === null && state.level === null) return this.whole;
    const panels = this.activity === null ? data.sheet.panels.filter(isShownPanel) : [panelOf(this.activity)];
    const left = Math.min(...panels.map(({ corner }) => corner[0])), top = Math.min(...panels.map(({ corner }) => corner[1]));
    const width = Math.max(...panels.map((panel) => panel.corner[0] + panel.width)) - left, height = Math.max(...panels.map((panel) => panel.corner[1] + panel.height)) - top;
    const edge = Math.max(width, height) * 0.04 + 1;
    return [left - edge, top - edge, width + 2 * edge, height + 2 * edge];
  }

  // Pixels of a cell decide how large letters are, and whether every cell has room for its arrow.
  fitted() {
    if (!this.view) return;
    const [x, y, width, height] = this.view;
    this.element.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
    const pixels = Math.min((this.element.clientWidth || 640) / width, (this.element.clientHeight || 640) / height) || 1;
    this.element.style.setProperty("--unit", 1 / pixels);
    const stride = pixels >= 5.5 ? 1 : pixels >= 2.6 ? 2 : Math.ceil(5.5 / pixels);
    if (stride !== this.stride || pixels !== this.pixels) {
      this.stride = stride;
      this.pixels = pixels;
      this.draw();
    }
  }

  draw() {
    const only = this.activity === null ? null : panelOf(this.activity);
    for (const layer of [this.layers.rooms, this.layers.names]) {
      layer.childNodes.forEach((room, at) => room.classList.toggle("dimmed", only !== null ? data.sheet.panels[at] !== only : !isShownPanel(data.sheet.panels[at])));
    }
    const cells = [], signs = [];
    for (const panel of data.sheet.panels) {
      if (!panel.grid || (only && panel !== only) || !isShownPanel(panel)) continue;
      const shown = only ? [this.activity] : panel.activities.filter(isShownActivity);
      cells.push(...drawCells(panel, visited(this.plan, shown), this.rare, this.stride));
    }
    this.layers.cells.replaceChildren(...cells);
    const size = this.signSize;
    if (only) signs.push(...marks(only, this.activity, size));
    else {
      data.problem.activities.forEach((activity, index) => {
        if (!this.plan.activities[index].executions || !isShownActivity(index)) return;
        const panel = panelOf(index), middle = (cell) => placed(panel, cell).map((value) => value + 0.5);
        if (activity.from === data.problem.start) signs.push(...activity.starts.map((cell) => circle(...middle(cell), size)));
        const last = activity.goals.filter((cell, goal) => activity.goalEvents[goal] === data.problem.end);
        signs.push(...last.map((cell) => star(...middle(cell), size * 1.45)));
      });
    }
    signs.push(...this.tags(only));
    this.layers.signs.replaceChildren(...signs);
    this.drawHinges(only);
  }

  // Where the figures stand that matter most: a ring, larger where more depends on it, with its number in the list.
  drawHinges(only) {
    const shown = this.hinges.map((hinge, index) => ({ ...hinge, number: index + 1 })).filter((hinge) => hinge.cell && (!only || hinge.activity === this.activity));
    const most = Math.max(...this.hinges.map((hinge) => Math.abs(hinge.change)), 1e-300), cells = new Map();
    for (const hinge of shown) {
      const panel = panelOf(hinge.activity);
      if (!panel) continue;
      const [x, y] = placed(panel, hinge.cell), key = `${x},${y}`, known = cells.get(key);
      if (known) {
        known.numbers.push(hinge.number);
        known.words.push(hinge.words);
      } else cells.set(key, { x: x + 0.5, y: y + 0.5, share: Math.abs(hinge.change) / most, numbers: [hinge.number], words: [hinge.words] });
    }
    this.layers.hinges.replaceChildren(...[...cells.values()].flatMap(({ x, y, share, numbers, words }) => {
      const radius = Math.max(0.55, (6 + 7 * share) / this.pixels);
      return [svg("circle", { class: "hinge", cx: x, cy: y, r: radius }, svg("title", {}, words.join("\n"))),
        svg("text", { class: "hinge-number", x: x + radius, y: y - radius * 0.6 }, numbers.join(", "))];
    }));
  }

  get signSize() {
    return Math.max(0.24, 5 / this.pixels);
  }

  // The names of the events at the openings where activities begin and end.
  tags(only) {
    const found = new Map();
    data.problem.activities.forEach((activity, index) => {
      if (!this.plan.activities[index].executions || !isShownActivity(index) || (only && index !== this.activity)) return;
      const panel = panelOf(index);
      const begins = activity.from === data.problem.start || only;
      const exits = activity.to.map((event) => [activity.goals.filter((cell, goal) => activity.goalEvents[goal] === event), event]);
      for (const [cells, event] of [...exits, [begins ? activity.starts : [], activity.from]]) {
        if (cells.length !== 1) continue;
        const [x, y] = placed(panel, cells[0]), key = [...found.keys()].find((known) => Math.abs(known[0] - x) + Math.abs(known[1] - y) <= 2);
        if (key) found.get(key).add(data.problem.events[event]);
        else found.set([x, y], new Set([data.problem.events[event]]));
      }
    });
    const letter = 7.4 / this.pixels, [left, top, width] = this.view;
    return [...found].flatMap(([[x, y], names]) => {
      // No longer than there is room to the next name on about the same height.
      const beside = [...found.keys()].filter(([u, v]) => (u !== x || v !== y) && Math.abs(v - y) * this.pixels < 30).map(([u]) => Math.abs(u - x));
      const most = Math.max(6, Math.min(28, Math.floor(Math.min(...beside, Infinity) / letter) - 1));
      const lines = [...names].slice(0, 2).map((name) => shortened(name, most)), half = (Math.max(...lines.map((name) => name.length)) * letter) / 2;
      const at = Math.min(Math.max(x + 0.5, left + half + letter), left + width - half - letter);
      const above = y + 0.5 - top > (14 + 13 * lines.length) / this.pixels ? -1 : 1;
      // Clear of the sign that stands there.
      const clear = Math.max(12, 1.45 * this.signSize * this.pixels + 5);
      return lines.map((name, line) => svg("text", { class: "tag", x: at, y: y + 0.5 + (above * (clear + 13 * line) + (above > 0 ? 8 : 0)) / this.pixels }, name));
    });
  }

  zoom(factor) {
    const [x, y, width, height] = this.view, whole = this.whole;
    const wide = Math.min(Math.max(width * factor, 4), whole[2] * 1.5), high = (height * wide) / width;
    this.view = [x + (width - wide) / 2, y + (height - high) / 2, wide, high];
    this.fitted();
  }

  move(right, down) {
    this.view = [this.view[0] + right, this.view[1] + down, this.view[2], this.view[3]];
    this.element.setAttribute("viewBox", this.view.join(" "));
  }

  reset() {
    this.view = this.home();
    this.fitted();
  }

  listen() {
    const element = this.element;
    const keys = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    element.addEventListener("keydown", (event) => {
      if (keys[event.key]) this.move(...keys[event.key].map((way) => (way * this.view[2]) / 10));
      else if (event.key === "+" || event.key === "=") this.zoom(0.75);
      else if (event.key === "-") this.zoom(1 / 0.75);
      else if (event.key === "0" || event.key === "Home") this.reset();
      else return;
      event.preventDefault();
    });
    let from = null;
    element.addEventListener("pointerdown", (event) => {
      from = [event.clientX, event.clientY];
      element.setPointerCapture(event.pointerId);
      element.classList.add("dragging");
    });
    element.addEventListener("pointermove", (event) => {
      if (!from) return;
      this.move((from[0] - event.clientX) / this.pixels, (from[1] - event.clientY) / this.pixels);
      from = [event.clientX, event.clientY];
    });
    for (const name of ["pointerup", "pointercancel"]) element.addEventListener(name, () => { from = null; element.classList.remove("dragging"); });
  }
}

function drawLegend() {
  if (!data.sheet.panels.some((panel) => panel.grid)) return;
  const picture = (...children) => svg("svg", { viewBox: "-1 -1 2 2", "aria-hidden": "true" }, children);
  const arrow = (band) => svg("path", { class: "arrows", d: "M" + ARROW.map(([x, y]) => `${x * 1.5 * [1, 0.92, 0.8, 0.66, 0.5][band]} ${y * 1.5 * [1, 0.92, 0.8, 0.66, 0.5][band]}`).join("L") + "z" });
  const entry = (drawn, words) => html("li", {}, drawn, html("span", {}, words));
  byId("legend").replaceChildren(html("h3", {}, "Expected visits to a cell"),
    html("ul", { class: "legend" }, BAND_NAMES.map((name, band) => entry(picture(svg("rect", { class: `heat-${4 - band}`, x: -1, y: -1, width: 2, height: 2 }), arrow(band)), name))),
    html("h3", {}, "Signs"),
    html("ul", { class: "legend" },
      entry(picture(arrow(0)), "heading"),
      entry(picture(svg("rect", { class: "hazard", x: -0.9, y: -0.9, width: 1.8, height: 1.8 })), "hazard"),
      entry(picture(svg("rect", { class: "wall", x: -0.9, y: -0.9, width: 1.8, height: 1.8 })), "wall"),
      entry(picture(circle(0, 0, 0.6)), "start"), entry(picture(star(0, 0, 0.9)), "goal")));
}
