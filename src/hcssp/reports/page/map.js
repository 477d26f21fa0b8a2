// The map: walls, hazards tinted by cost, where a plan goes and how often. Lengths are cells.

const BANDS = [1, 0.1, 0.01, 0.001, 0];
const BAND_NAMES = ["1 or more", "0.1 to 1", "0.01 to 0.1", "0.001 to 0.01", "less"];
const HARDLY = 1e-4;
const STEPS = [[0, -1], [1, 0], [0, 1], [-1, 0], [0, 0]];
const HEADINGS = ["north", "east", "south", "west"];
// A slender arrow head towards the north, and turned a quarter for each other heading.
const ARROW = [[0, -0.42], [0.3, 0.36], [0, 0.18], [-0.3, 0.36]];
const TURNS = [([x, y]) => [x, y], ([x, y]) => [-y, x], ([x, y]) => [-x, -y], ([x, y]) => [y, -x]];
const SIZES = [1, 0.92, 0.8, 0.66, 0.5];
// Of how many strengths the tint of a hazard is.
const TINTS = 4;

const decoded = new WeakMap();
function cellsOf(grid) {
  if (!decoded.has(grid)) {
    const { width, most, cells } = grid, found = [];
    Uint8Array.from(atob(cells), (letter) => letter.charCodeAt(0)).forEach((byte, at) => {
      if (byte) found.push({ x: at % width, y: Math.floor(at / width), heading: byte & 3, visits: most * 10 ** (-((63 - (byte >> 2)) * 6) / 62) });
    });
    decoded.set(grid, found);
  }
  return decoded.get(grid);
}

const bandOf = (visits) => BANDS.findIndex((least) => visits >= least);
const panelOf = (model, activity) => model.sheet.panels.find((panel) => panel.activities.includes(activity));
const placed = (panel, cell) => [panel.corner[0] + cell[0], panel.corner[1] + cell[1]];
const hasMap = (model) => model.sheet.panels.some((panel) => panel.grid);

// What is visited in a panel: for each cell the visits of all activities, and the heading of the busiest.
function visited(model, plan, activities, part = null) {
  const found = new Map();
  for (const activity of activities) {
    const share = plan.activities[activity];
    (share.pieces ?? []).forEach((piece, number) => {
      if (part !== null && piece.part !== part) return;
      cellsOf(model.grids[piece.grid]).forEach((cell, position) => {
        const visits = cell.visits * share.executions, key = `${cell.x},${cell.y}`;
        const own = { activity, number, position, heading: cell.heading, visits, each: cell.visits, part: piece.part };
        const known = found.get(key);
        if (!known) found.set(key, { x: cell.x, y: cell.y, heading: cell.heading, visits, most: visits, by: [own] });
        else {
          known.visits += visits;
          known.by.push(own);
          if (visits > known.most) Object.assign(known, { most: visits, heading: cell.heading });
        }
      });
    });
  }
  return [...found.values()];
}

// The hazards of a room by cell: rectangles that overlap add up.
function hazardCells(panel) {
  const found = new Map();
  for (const { place: [x, y, width, height], costs, exits } of panel.hazards) {
    for (let row = y; row < y + height; row++) for (let column = x; column < x + width; column++) {
      const known = found.get(`${column},${row}`) ?? { x: column, y: row, costs: {}, exits: {} };
      for (const [into, from] of [[known.costs, costs], [known.exits, exits]]) for (const [name, value] of Object.entries(from)) into[name] = (into[name] ?? 0) + value;
      found.set(`${column},${row}`, known);
    }
  }
  return found;
}
const hazardWords = (model, { costs, exits }) => [...Object.entries(costs).map(([name, cost]) => `${name} ${withUnit(model, name, given(cost))}`), ...Object.entries(exits).map(([name, odds]) => `${percent(odds)} ${name}`)].join(", ") || "depends on the state";

// The kinds of hazard on a sheet, the mildest first, each with its tint.
const hazardKinds = new WeakMap();
function kindsOfHazards(model) {
  if (hazardKinds.has(model.sheet)) return hazardKinds.get(model.sheet);
  const kinds = new Map(), most = {};
  for (const panel of model.sheet.panels) for (const cell of hazardCells(panel).values()) {
    kinds.set(hazardWords(model, cell), cell);
    for (const [name, value] of [...Object.entries(cell.costs), ...Object.entries(cell.exits)]) most[name] = Math.max(most[name] ?? 0, value);
  }
  const found = [...kinds].map(([words, { costs, exits }]) => {
    const strength = Math.max(0, ...[...Object.entries(costs), ...Object.entries(exits)].map(([name, value]) => (most[name] ? value / most[name] : 0)));
    return { words, strength, tint: Math.max(1, Math.ceil(TINTS * strength)) };
  }).sort((a, b) => a.strength - b.strength);
  hazardKinds.set(model.sheet, found);
  return found;
}

function drawHazards(model, panel, filled = true) {
  const kinds = new Map(kindsOfHazards(model).map((kind) => [kind.words, kind])), cells = hazardCells(panel), paths = new Map();
  const wordsAt = (x, y) => { const cell = cells.get(`${x},${y}`); return cell ? hazardWords(model, cell) : ""; };
  let edges = "";
  const [left, top] = panel.corner;
  for (const { x, y } of cells.values()) {
    const words = wordsAt(x, y), tint = kinds.get(words).tint, [across, down] = [left + x, top + y];
    paths.set(tint, (paths.get(tint) ?? "") + `M${across} ${down}h1v1h-1z`);
    // One line around cells that cost the same, however many rectangles they were stated in.
    if (wordsAt(x, y - 1) !== words) edges += `M${across} ${down}h1`;
    if (wordsAt(x, y + 1) !== words) edges += `M${across} ${down + 1}h1`;
    if (wordsAt(x - 1, y) !== words) edges += `M${across} ${down}v1`;
    if (wordsAt(x + 1, y) !== words) edges += `M${across + 1} ${down}v1`;
  }
  return [...[...(filled ? paths : [])].map(([tint, d]) => svg("path", { class: `hazard hazard-${tint}`, d })), edges ? svg("path", { class: "hazard-edge", d: edges }) : null];
}

function drawRoom(model, panel, hazards = true) {
  const [left, top] = panel.corner, { width, height } = panel;
  const group = svg("g", {});
  if (!panel.grid) group.append(svg("rect", { class: "table-box", x: left, y: top, width, height, rx: 1 }));
  else {
    const ring = `M${left} ${top}h${width}v${height}h${-width}ZM${left + 1} ${top + 1}v${height - 2}h${width - 2}v${2 - height}Z`;
    fill(group, {}, [svg("rect", { class: "floor", x: left, y: top, width, height }), hazards ? drawHazards(model, panel) : null, svg("path", { class: "wall", d: ring }),
      panel.walls.map(([x, y, w, h]) => svg("rect", { class: "wall", x: left + x, y: top + y, width: w, height: h })),
      panel.openings.map(([x, y]) => svg("rect", { class: "opening", x: left + x, y: top + y, width: 1, height: 1 }))]);
  }
  return group;
}

// Letters on the map are as large as on the page, wherever there is room for them.
const LETTER = 6.6, LINE = 13;
function roomName(model, panel, pixels) {
  const [left, top] = panel.corner, { width, height } = panel;
  // A room by itself needs no name.
  if (panel.grid && model.sheet.panels.length === 1) return null;
  const most = Math.floor((width * pixels - 8) / LETTER);
  if (most < 4) return null;
  // Of a name inside others, the end says most.
  const name = shortened(panel.title.length > most ? panel.title.split("/").pop() : panel.title, most);
  if (!panel.grid) return svg("text", { class: "room-name in-box", x: left + width / 2, y: top + height / 2 }, name);
  if (!panel.onMap) return svg("text", { class: "room-name above", x: left + width / 2, y: top - 8 / pixels }, name);
  return svg("text", { class: "room-name on-wall", x: left + width / 2, y: top + height - 0.5 }, name);
}

const arrowPath = (x, y, heading, scale) => "M" + ARROW.map((point) => TURNS[heading](point).map((value, axis) => ((axis ? y : x) + value * scale).toFixed(2)).join(" ")).join("L") + "z";

function drawCells(model, panel, cells, rare, stride) {
  const [left, top] = panel.corner;
  const heat = BANDS.map(() => []), arrows = BANDS.map(() => []);
  for (const cell of cells) {
    if (!rare && cell.visits < HARDLY) continue;
    const band = bandOf(cell.visits), x = left + cell.x, y = top + cell.y;
    heat[band].push(`M${x} ${y}h1v1h-1z`);
    if (cell.x % stride || cell.y % stride) continue;
    arrows[band].push(arrowPath(x + 0.5, y + 0.5, cell.heading, stride * SIZES[band]));
  }
  return [
    svg("g", { class: "heat" }, heat.map((parts, band) => svg("path", { class: `heat-${4 - band}`, d: parts.join("") }))),
    // Shading must not hide what is dangerous, nor hazards the arrows.
    svg("g", {}, drawHazards(model, panel)),
    svg("g", { class: "arrows" }, arrows.map((parts, band) => svg("path", { opacity: [1, 0.95, 0.85, 0.7, 0.5][band], d: parts.join("") }))),
  ];
}

// Where two plans differ: by how much one visits a cell more often than the other.
function drawDifference(panel, first, second) {
  const [left, top] = panel.corner, keyOf = ({ x, y }) => `${x},${y}`, others = new Map(second.map((cell) => [keyOf(cell), cell]));
  const paths = new Map(), turned = [];
  const add = (cell, difference) => {
    const size = Math.abs(difference);
    if (size < HARDLY) return;
    const name = `${difference > 0 ? "more" : "less"} by-${4 - bandOf(size)}`;
    paths.set(name, (paths.get(name) ?? "") + `M${left + cell.x} ${top + cell.y}h1v1h-1z`);
  };
  for (const cell of first) {
    const other = others.get(keyOf(cell));
    add(cell, cell.visits - (other?.visits ?? 0));
    if (other && other.heading !== cell.heading && Math.min(cell.visits, other.visits) >= HARDLY) turned.push(cell);
    others.delete(keyOf(cell));
  }
  for (const cell of others.values()) add(cell, -cell.visits);
  return [...[...paths].map(([name, d]) => svg("path", { class: `difference ${name}`, d })),
    svg("path", { class: "turned", d: turned.map(({ x, y }) => `M${left + x + 0.2} ${top + y + 0.2}h.6v.6h-.6z`).join("") })];
}

const circle = (x, y, r) => svg("circle", { class: "mark start", cx: x, cy: y, r });
function star(x, y, r) {
  const points = Array.from({ length: 10 }, (_, at) => {
    const radius = at % 2 ? r * 0.45 : r, angle = (at * Math.PI) / 5;
    return `${(x + radius * Math.sin(angle)).toFixed(2)},${(y - radius * Math.cos(angle)).toFixed(2)}`;
  });
  return svg("polygon", { class: "mark goal", points: points.join(" ") });
}
function marks(model, panel, activity, size) {
  const { starts, goals } = model.problem.activities[activity], middle = (cell) => placed(panel, cell).map((value) => value + 0.5);
  return [...starts.map((cell) => circle(...middle(cell), size)), ...goals.map((cell) => star(...middle(cell), size * 1.45))];
}

// Labels that would lie on one that is there already are left out; the tooltip of the cell has them.
function apartFrom(taken, box) {
  const free = taken.every((other) => box.right < other.left || other.right < box.left || box.bottom < other.top || other.bottom < box.top);
  if (free) taken.push(box);
  return free;
}

// The large map with its view.
//   shown: the activities to draw, one of them alone (`only`), and the layer of its states (`part`)
//   onCell: is called with what is known of a cell, or with null where there is none
class Sheet {
  constructor(element, model, onCell = () => {}) {
    Object.assign(this, { element, model, onCell, rare: false, sensitivities: [], cells: new Map() });
    this.layers = Object.fromEntries(["rooms", "cells", "names", "lit", "sensitivities", "signs", "tokens", "cursor"].map((name) => [name, svg("g", { class: name })]));
    element.replaceChildren(...Object.values(this.layers));
    this.drawRooms();
    this.listen();
    new ResizeObserver(() => this.fitted()).observe(element);
  }

  drawRooms() {
    this.layers.rooms.replaceChildren(...this.model.sheet.panels.map((panel) => drawRoom(this.model, panel, false)));
  }

  get whole() {
    const { width, height } = this.model.sheet, edge = Math.max(width, height) * 0.02 + 1;
    return [-edge, -edge, width + 2 * edge, height + 2 * edge];
  }

  isShown(panel) {
    return panel.activities.some((activity) => this.shown.activities.includes(activity));
  }

  show(plan, shown) {
    const moved = !this.view || JSON.stringify(shown) !== JSON.stringify(this.shown);
    Object.assign(this, { plan, shown, activity: shown.only });
    if (moved) this.view = this.home();
    this.element.style.aspectRatio = `${this.whole[2]} / ${this.whole[3]}`;
    this.stride = null;
    this.fitted();
  }

  home() {
    const all = this.shown.only === null && this.shown.activities.length === this.model.problem.activities.length;
    const panels = all ? [] : this.shown.only === null ? this.model.sheet.panels.filter((panel) => this.isShown(panel)) : [panelOf(this.model, this.shown.only)];
    if (!panels.length) return this.whole;
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

  // The rooms that are drawn in full.
  panels() {
    const only = this.shown.only === null ? null : panelOf(this.model, this.shown.only);
    return this.model.sheet.panels.filter((panel) => (only ? panel === only : this.isShown(panel)));
  }

  draw() {
    const { model, shown } = this, only = shown.only, full = this.panels();
    this.layers.rooms.childNodes.forEach((room, at) => room.classList.toggle("dimmed", !full.includes(model.sheet.panels[at])));
    // Rooms of other floors would lie below those of this one.
    this.layers.rooms.childNodes.forEach((room, at) => room.classList.toggle("other-floor", shown.floor !== null && !full.includes(model.sheet.panels[at]) && model.sheet.panels[at].onMap));
    this.cells = new Map();
    this.layers.cells.replaceChildren(...full.filter((panel) => panel.grid).flatMap((panel) => {
      const cells = visited(model, this.plan, only === null ? panel.activities.filter((activity) => shown.activities.includes(activity)) : [only], shown.part);
      for (const cell of cells) this.cells.set(placed(panel, [cell.x, cell.y]).join(), { ...cell, panel });
      return drawCells(model, panel, cells, this.rare, this.stride);
    }));
    this.layers.names.replaceChildren(...full.map((panel) => roomName(model, panel, this.pixels)).filter(Boolean));
    const size = this.signSize, signs = [];
    if (only !== null) signs.push(...marks(model, full[0], only, size));
    else {
      model.problem.activities.forEach((activity, index) => {
        if (!this.plan.activities[index].executions || !shown.activities.includes(index)) return;
        const panel = panelOf(model, index), middle = (cell) => placed(panel, cell).map((value) => value + 0.5);
        if (activity.from === model.problem.start) signs.push(...activity.starts.map((cell) => circle(...middle(cell), size)));
        signs.push(...activity.goals.filter((cell, goal) => activity.goalEvents[goal] === model.problem.end).map((cell) => star(...middle(cell), size * 1.45)));
      });
    }
    this.layers.signs.replaceChildren(...signs, ...this.tags());
    this.drawSensitivities();
  }

  // Where the figures stand that matter most: a ring, larger where more depends on it, with its number in the list.
  drawSensitivities() {
    const only = this.shown.only, shown = this.sensitivities.map((sensitivity, index) => ({ ...sensitivity, number: index + 1 })).filter((sensitivity) => sensitivity.cell && (only === null || sensitivity.activity === only));
    const most = Math.max(...this.sensitivities.map((sensitivity) => Math.abs(sensitivity.change)), 1e-300), cells = new Map();
    for (const sensitivity of shown) {
      const panel = panelOf(this.model, sensitivity.activity);
      if (!panel) continue;
      const [x, y] = placed(panel, sensitivity.cell), key = `${x},${y}`, known = cells.get(key);
      if (known) {
        known.numbers.push(sensitivity.number);
        known.words.push(sensitivity.words);
      } else cells.set(key, { x: x + 0.5, y: y + 0.5, share: Math.abs(sensitivity.change) / most, numbers: [sensitivity.number], words: [sensitivity.words] });
    }
    this.layers.sensitivities.replaceChildren(...[...cells.values()].flatMap(({ x, y, share, numbers, words }) => {
      const radius = Math.max(0.55, (6 + 7 * share) / this.pixels);
      return [svg("circle", { class: "sensitivity", cx: x, cy: y, r: radius }, svg("title", {}, words.join("\n"))),
        svg("text", { class: "sensitivity-number", x: x + radius, y: y - radius * 0.6 }, numbers.join(", "))];
    }));
  }

  get signSize() {
    return Math.max(0.24, 5 / this.pixels);
  }

  // The names of the events at the openings where activities begin and end, none on top of another.
  tags() {
    const { model, shown } = this, found = new Map();
    model.problem.activities.forEach((activity, index) => {
      if (!this.plan.activities[index].executions || !shown.activities.includes(index) || (shown.only !== null && index !== shown.only)) return;
      const panel = panelOf(model, index);
      const exits = activity.to.map((event) => [activity.goals.filter((cell, goal) => activity.goalEvents[goal] === event), event]);
      for (const [cells, event] of [...exits, [activity.from === model.problem.start || shown.only !== null ? activity.starts : [], activity.from]]) {
        if (cells.length !== 1) continue;
        const [x, y] = placed(panel, cells[0]), key = [...found.keys()].find((known) => Math.abs(known[0] - x) + Math.abs(known[1] - y) <= 2);
        if (key) found.get(key).add(model.problem.events[event]);
        else found.set([x, y], new Set([model.problem.events[event]]));
      }
    });
    this.events = new Map([...found].map(([at, names]) => [at.join(), [...names]]));
    const [left, , width] = this.view, unit = 1 / this.pixels, clear = Math.max(12, 1.45 * this.signSize * this.pixels + 5);
    const taken = [...this.layers.names.childNodes].map((name) => {
      const half = (name.textContent.length * LETTER * unit) / 2, x = Number(name.getAttribute("x")), y = Number(name.getAttribute("y"));
      return { left: x - half, right: x + half, top: y - 7 * unit, bottom: y + 7 * unit };
    });
    return [...found].flatMap(([[x, y], names]) => {
      const lines = [...names].slice(0, 2).map((name) => shortened(name, 28)), half = (Math.max(...lines.map((name) => name.length)) * LETTER * unit) / 2 + 3 * unit;
      const high = lines.length * LINE * unit, middle = Math.min(Math.max(x + 0.5, left + half), left + width - half);
      const sides = [[middle, y + 0.5 - clear * unit - high], [middle, y + 0.5 + clear * unit], [x + 0.5 + clear * unit + half, y + 0.5 - high / 2], [x + 0.5 - clear * unit - half, y + 0.5 - high / 2]];
      const side = sides.find(([at, above]) => above > this.view[1] && apartFrom(taken, { left: at - half, right: at + half, top: above, bottom: above + high }));
      return side ? lines.map((name, line) => svg("text", { class: "tag", x: side[0], y: side[1] + (line + 0.8) * LINE * unit }, name)) : [];
    });
  }

  // The cells of an activity stand out while it is pointed at elsewhere.
  light(activity) {
    const panel = activity === null ? null : panelOf(this.model, activity);
    const cells = panel?.grid && this.isShown(panel) ? visited(this.model, this.plan, [activity]).filter((cell) => cell.visits >= HARDLY) : [];
    const d = cells.map(({ x, y }) => `M${panel.corner[0] + x + 0.1} ${panel.corner[1] + y + 0.1}h.8v.8h-.8z`).join("");
    this.layers.lit.replaceChildren(...(d ? [svg("path", { class: "lit-cells", d })] : []));
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

  // Mark a cell of the sheet and report what is known of it.
  point(at) {
    const cell = at && this.cells.get(at.join());
    this.pointed = cell ? at : null;
    this.layers.cursor.replaceChildren(...(cell ? [svg("rect", { class: "cursor", x: at[0], y: at[1], width: 1, height: 1 })] : []));
    this.onCell(cell ? { ...cell, events: this.events.get(at.join()) ?? [], box: this.layers.cursor.firstChild.getBoundingClientRect() } : null);
  }

  // The nearest visited cell in a direction.
  step([right, down]) {
    const [x, y] = this.pointed;
    const ahead = [...this.cells.keys()].map((key) => key.split(",").map(Number))
      .map(([u, v]) => ({ at: [u, v], along: (u - x) * right + (v - y) * down, aside: Math.abs((u - x) * down) + Math.abs((v - y) * right) }))
      .filter(({ along }) => along > 0).sort((a, b) => a.along + 3 * a.aside - b.along - 3 * b.aside);
    if (!ahead.length) return;
    const [u, v] = ahead[0].at, [left, top, width, height] = this.view;
    if (u < left || v < top || u + 1 > left + width || v + 1 > top + height) this.move(u - x, v - y);
    this.point(ahead[0].at);
  }

  under(event) {
    const matrix = this.element.getScreenCTM();
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
    return [Math.floor(x), Math.floor(y)];
  }

  listen() {
    const element = this.element;
    const keys = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    element.addEventListener("keydown", (event) => {
      if (keys[event.key] && this.pointed && this.byKeys) this.step(keys[event.key]);
      else if (keys[event.key]) this.move(...keys[event.key].map((way) => (way * this.view[2]) / 10));
      else if (event.key === "+" || event.key === "=") this.zoom(0.75);
      else if (event.key === "-") this.zoom(1 / 0.75);
      else if (event.key === "0" || event.key === "Home") this.reset();
      else if (event.key === "Enter" && this.cells.size) {
        this.byKeys = true;
        const busiest = [...this.cells].reduce((best, each) => (each[1].visits > best[1].visits ? each : best));
        this.point(busiest[0].split(",").map(Number));
      } else if (event.key === "Escape" && this.pointed) {
        this.byKeys = false;
        this.point(null);
      } else return;
      event.preventDefault();
    });
    element.addEventListener("blur", () => { this.byKeys = false; this.point(null); });
    let from = null, dragged = false;
    element.addEventListener("pointerdown", (event) => {
      from = [event.clientX, event.clientY];
      dragged = false;
      element.setPointerCapture(event.pointerId);
    });
    element.addEventListener("pointermove", (event) => {
      if (!from) { if (event.pointerType === "mouse" && !this.byKeys) this.point(this.under(event)); return; }
      if (!dragged && Math.hypot(event.clientX - from[0], event.clientY - from[1]) < 4) return;
      dragged = true;
      element.classList.add("dragging");
      this.point(null);
      this.move((from[0] - event.clientX) / this.pixels, (from[1] - event.clientY) / this.pixels);
      from = [event.clientX, event.clientY];
    });
    for (const name of ["pointerup", "pointercancel"]) element.addEventListener(name, (event) => {
      if (name === "pointerup" && from && !dragged) this.point(this.under(event));
      from = null;
      element.classList.remove("dragging");
    });
    element.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse" && !this.byKeys) this.point(null); });
  }
}

function drawLegend(host, model) {
  const picture = (...children) => svg("svg", { viewBox: "-1 -1 2 2", "aria-hidden": "true" }, children);
  const arrow = (band) => svg("path", { class: "arrows", d: arrowPath(0, 0, 0, 1.5 * SIZES[band]) });
  const entry = (drawn, words) => html("li", {}, drawn, html("span", {}, words));
  const square = (name, extra = {}) => svg("rect", { class: name, x: -0.95, y: -0.95, width: 1.9, height: 1.9, ...extra });
  const kinds = kindsOfHazards(model), shown = kinds.length > 6 ? [...kinds.slice(0, 3), ...kinds.slice(-3)] : kinds;
  host.replaceChildren(
    html("ul", { class: "legend" }, html("li", { class: "legend-title" }, "visits to a cell"), BAND_NAMES.map((name, band) => entry(picture(square(`heat-${4 - band}`), arrow(band)), name)),
      kinds.length ? html("li", { class: "legend-title" }, "hazard, each step") : null, shown.map(({ words, tint }) => entry(picture(square(`hazard hazard-${tint}`), square("hazard-edge")), words)),
      kinds.length > shown.length ? html("li", {}, `${kinds.length - shown.length} more between these`) : null,
      html("li", { class: "legend-title" }, "signs"), entry(picture(circle(0, 0, 0.6)), "start"), entry(picture(star(0, 0, 0.9)), "goal")));
}
