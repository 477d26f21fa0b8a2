// The problem file as the page edits it. What is drawn or filled in becomes operations on the document; the server
// applies them to the text, and `applied` to the copy at hand, so that a stroke is seen at once.

export const valueAt = (document, path) => path.reduce((node, key) => node?.[key], document);

export function applied(document, operations) {
  const copy = structuredClone(document);
  for (const { op, path, value, to } of operations) {
    const parent = valueAt(copy, path.slice(0, -1)), key = path.at(-1);
    if (typeof parent !== "object" || parent === null) throw new Error(`The text has no ${path.slice(0, -1).join(" › ")}.`);
    if (op === "set") parent[key] = value;
    else if (op === "insert" && Array.isArray(parent)) parent.splice(key, 0, value);
    else if (op === "insert") parent[key] = value;
    else if (op === "delete" && Array.isArray(parent)) parent.splice(key, 1);
    else if (op === "delete") delete parent[key];
    else if (op === "rename") {
      const entries = Object.entries(parent).map(([name, each]) => [name === key ? to : name, each]);
      for (const name of Object.keys(parent)) delete parent[name];
      Object.assign(parent, Object.fromEntries(entries));
    }
  }
  return copy;
}
const set = (path, value) => ({ op: "set", path, value });
const remove = (path) => ({ op: "delete", path });
export const freeName = (wanted, taken) => {
  let name = wanted;
  for (let number = 2; taken.includes(name); number++) name = `${wanted} ${number}`;
  return name;
};

// Numbers may be expressions of parameters. Nothing is executed: this is a reader of sums, products and brackets.
export function evaluated(value, parameters = {}) {
  if (typeof value === "number") return value;
  if (typeof value !== "string") return NaN;
  const tokens = value.match(/\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+|\w+|[-+*/()%]|\S/g) ?? [];
  let at = 0;
  const atom = () => {
    const token = tokens[at++];
    if (token === "(") {
      const inside = sum();
      return tokens[at++] === ")" ? inside : NaN;
    }
    if (token === "-") return -factor();
    if (token === "inf") return Infinity;
    return /^[\d.]/.test(token ?? "") ? Number(token) : Object.hasOwn(parameters, token) ? parameters[token] : NaN;
  };
  const factor = () => {
    let found = atom();
    for (; tokens[at] === "%"; at++) found /= 100;
    return found;
  };
  const product = () => {
    let found = factor();
    while (tokens[at] === "*" || tokens[at] === "/") found = tokens[at++] === "*" ? found * factor() : found / factor();
    return found;
  };
  const sum = () => {
    let found = product();
    while (tokens[at] === "+" || tokens[at] === "-") found = tokens[at++] === "+" ? found + product() : found - product();
    return found;
  };
  const result = sum();
  return at === tokens.length ? result : NaN;
}
export function parametersOf(document) {
  const found = {};
  for (const [name, value] of Object.entries(document?.parameters ?? {})) found[name] = evaluated(value, found);
  return found;
}

// ---- Rooms ----

const folders = (document) => [[], ...Object.keys(document.procedures ?? {}).map((name) => ["procedures", name])];

// Every grid that the document states, with the activities that are in it.
export function roomsOf(document) {
  if (!document) return [];
  const rooms = [];
  for (const [name, model] of Object.entries(document.models ?? {})) if (model?.grid) rooms.push({ name, path: ["models", name], users: [] });
  for (const folder of folders(document)) {
    const activities = valueAt(document, folder)?.activities ?? {};
    for (const [name, activity] of Object.entries(activities)) if (activity?.grid) rooms.push({ name, path: [...folder, "activities", name], users: [] });
    for (const name of Object.keys(activities)) {
      let owner = name;
      for (let hops = 0; activities[owner]?.model !== undefined && hops < 99; hops++) owner = activities[owner].model;
      const room = rooms.findLast((each) => each.name === owner && (each.path[0] === "models" || each.path.length === folder.length + 2));
      room?.users.push({ name, path: [...folder, "activities", name] });
    }
  }
  return rooms;
}

const LETTERS = "~:^*%&!?=+abcdefghijklmnopqrstuvwxyz";
const rectangles = (given) => (given === undefined || given === null ? [] : Array.isArray(given[0]) ? given : [given]);
export const sameCell = (one, other) => one[0] === other[0] && one[1] === other[1];

// A grid as letters, with the wall around it; a grid of rectangles is drawn as the map that it would be.
export class Room {
  constructor(document, { name, path, users }) {
    const grid = valueAt(document, path).grid;
    Object.assign(this, { name, path, users, grid, drawn: grid.map !== undefined, parameters: parametersOf(document) });
    this.places = {};
    this.hazards = {};
    if (this.drawn) this.readMap();
    else this.readRectangles();
    [this.width, this.height] = [this.rows[0].length - 2, this.rows.length - 2];
  }

  readMap() {
    const { map, hazards, places } = this.grid, lines = (Array.isArray(map) ? map : String(map).split("\n")).map((line) => String(line).trim()).filter(Boolean);
    const letters = Object.values(places ?? {}).filter((each) => typeof each === "string"), width = Math.max(1, ...lines.map((line) => line.length));
    this.hazards = { ...hazards };
    let rows = lines.map((line) => [...line.padEnd(width, ".")]);
    if (!rows.length) rows = [["."]];
    const ring = [...rows[0], ...rows.at(-1), ...rows.flatMap((row) => [row[0], row.at(-1)])];
    if (Math.min(rows.length, width) < 3 || !ring.every((each) => "#SG".includes(each) || letters.includes(each))) {
      const closed = () => Array(width + 2).fill("#");
      rows = [closed(), ...rows.map((row) => ["#", ...row, "#"]), closed()];
    }
    this.rows = rows;
    for (const [name, place] of Object.entries(places ?? {})) this.places[name] = Array.isArray(place) ? place : this.find(place)[0];
  }

  readRectangles() {
    const { width, height, walls, hazards, places } = this.grid, size = (value) => Math.max(1, Math.round(evaluated(value, this.parameters)) || 1);
    const [w, h] = [size(width), size(height)];
    this.rows = Array.from({ length: h + 2 }, (_, y) => Array.from({ length: w + 2 }, (_, x) => (x && y && x <= w && y <= h ? "." : "#")));
    const effects = new Map(), number = (each) => Math.round(evaluated(each, this.parameters));
    const cells = (rectangle, act) => {
      const [left, top, wide, high] = rectangle.map(number);
      for (let y = Math.max(1, top); y < Math.min(h + 1, top + high); y++) for (let x = Math.max(1, left); x < Math.min(w + 1, left + wide); x++) act(x, y);
    };
    // Effects of hazards that overlap are added, each sum with a letter of its own.
    for (const hazard of hazards ?? []) for (const rectangle of rectangles(hazard?.at)) cells(rectangle, (x, y) => effects.set(`${x},${y}`, [...(effects.get(`${x},${y}`) ?? []), hazard]));
    const known = new Map();
    for (const [key, all] of effects) {
      const meaning = all.reduce((sum, { costs, exit }) => added(sum, { ...costs, ...(exit ? { exit } : {}) }), {}), words = JSON.stringify(meaning);
      if (!known.has(words)) known.set(words, this.letterFor(meaning));
      const [x, y] = key.split(",").map(Number);
      this.rows[y][x] = known.get(words);
    }
    for (const rectangle of rectangles(walls)) cells(rectangle, (x, y) => { this.rows[y][x] = "#"; });
    for (const [name, place] of Object.entries(places ?? {})) this.places[name] = place.map(number);
  }

  // The letter of a kind of hazard, a new one if need be.
  letterFor(meaning) {
    const taken = new Set([...Object.keys(this.hazards), ...Object.values(this.grid.places ?? {}), ..."#.SG"]);
    const letter = [...LETTERS].find((each) => !taken.has(each)) ?? "~";
    this.hazards[letter] = meaning;
    return letter;
  }

  find(letter) {
    return this.rows.flatMap((row, y) => row.flatMap((each, x) => (each === letter ? [[x, y]] : [])));
  }

  isInside([x, y]) {
    return x >= 1 && y >= 1 && x <= this.width && y <= this.height;
  }

  isIn([x, y]) {
    return x >= 0 && y >= 0 && x <= this.width + 1 && y <= this.height + 1;
  }

  // The cells that a start or goal names; without one the letters of the map.
  cells(target, letter) {
    if (target === undefined || target === null) return this.find(letter);
    if (typeof target === "string") {
      const cell = target.match(/^\((\d+), *(\d+)\)$/);
      return cell ? [[Number(cell[1]), Number(cell[2])]] : this.places[target] ? [this.places[target]] : target === "S" || target === "G" ? this.find(target) : [];
    }
    if (!Array.isArray(target)) return target.at === undefined ? [] : this.cells(target.at, letter);
    if (target.length === 2 && target.every((each) => typeof each === "number")) return [target];
    return target.flatMap((each) => this.cells(each, letter));
  }

  // As a panel of the map: what `drawRoom` and `drawHazards` draw.
  panel(document, corner, model) {
    const walls = [], hazards = [], openings = this.openings(document);
    this.rows.forEach((row, y) => row.forEach((letter, x) => {
      if (!this.isInside([x, y])) return;
      if (letter === "#") walls.push([x, y, 1, 1]);
      else if (this.hazards[letter]) {
        const { exit, ...costs } = this.hazards[letter], figures = (given) => Object.fromEntries(Object.entries(given ?? {}).map(([name, value]) => [name, evaluated(value, this.parameters) || 0]));
        hazards.push({ place: [x, y, 1, 1], costs: figures(costs), exits: typeof exit === "object" ? figures(exit) : {} });
      }
    }));
    return { title: this.name, corner, width: this.width + 2, height: this.height + 2, grid: true, onMap: true, activities: model?.activities ?? [], walls, hazards, openings };
  }

  openings(document) {
    return this.signs(document).filter(({ cell }) => !this.isInside(cell) && this.isIn(cell)).map(({ cell }) => cell);
  }

  signs(document) {
    return [...this.users.flatMap(({ name, path }) => ["start", "goal"].flatMap((kind) => this.cells(valueAt(document, path)[kind] ?? valueAt(document, this.path)[kind], kind === "start" ? "S" : "G").map((cell) => ({ kind, cell, name })))),
      ...Object.entries(this.places).filter(([, cell]) => cell).map(([name, cell]) => ({ kind: "place", cell, name }))];
  }

  // The operations that write the letters back.
  written() {
    const text = this.rows.map((row) => row.join(""));
    const map = Array.isArray(this.grid.map) ? text : `${text.join("\n")}\n`;
    if (this.drawn) {
      const operations = [set([...this.path, "grid", "map"], map)];
      if (JSON.stringify(this.hazards) !== JSON.stringify(this.grid.hazards ?? {})) operations.push(set([...this.path, "grid", "hazards"], this.hazards));
      return operations;
    }
    const { width, height, walls, hazards, ...rest } = this.grid;
    return [set([...this.path, "grid"], { map, ...(Object.keys(this.hazards).length ? { hazards: this.hazards } : {}), ...rest })];
  }

  // Walls, free floor and hazards; a start, goal or place is only erased by free floor.
  paint(cells, letter) {
    let changed = false;
    for (const [x, y] of cells) {
      const before = this.rows[y]?.[x], after = this.isInside([x, y]) ? letter : "#";
      const isSign = before !== undefined && before !== "#" && before !== "." && !this.hazards[before];
      if (before === undefined || before === after || (isSign && letter !== ".")) continue;
      this.rows[y][x] = after;
      changed = true;
    }
    return changed ? this.written() : [];
  }

  // All cells like this one that can be reached from it.
  flood([x, y]) {
    const letter = this.rows[y]?.[x], found = [], seen = new Set(), waiting = this.isInside([x, y]) ? [[x, y]] : [];
    while (waiting.length) {
      const [a, b] = waiting.pop();
      if (seen.has(`${a},${b}`) || !this.isInside([a, b]) || this.rows[b][a] !== letter) continue;
      seen.add(`${a},${b}`);
      found.push([a, b]);
      waiting.push([a + 1, b], [a - 1, b], [a, b + 1], [a, b - 1]);
    }
    return found;
  }

  // A start or goal of an activity: as a letter where the map has it so, else by its cell.
  putSign(document, kind, user, cell, also) {
    const letter = kind === "start" ? "S" : "G", stated = valueAt(document, user.path)[kind];
    if (this.users.length === 1 && stated === undefined && valueAt(document, this.path)[kind] === undefined && this.drawn) {
      const there = this.rows[cell[1]][cell[0]] === letter;
      if (!also) for (const [x, y] of this.find(letter)) this.rows[y][x] = this.isInside([x, y]) ? "." : "#";
      this.rows[cell[1]][cell[0]] = there && also ? (this.isInside(cell) ? "." : "#") : letter;
      return this.written();
    }
    const before = also ? this.cells(stated, letter) : [], kept = before.filter((each) => !sameCell(each, cell));
    const all = kept.length < before.length && kept.length ? kept : [...kept, cell];
    const value = all.length === 1 ? all[0] : kind === "goal" ? all : all.map((each) => ({ at: each, probability: `1/${all.length}` }));
    const operations = this.rows[cell[1]][cell[0]] === "#" && this.isInside(cell) ? this.paint([cell], ".") : [];
    return [...operations, set([...user.path, kind], value)];
  }

  putPlace(name, cell) {
    const { places } = this.grid, letter = places?.[name], drawn = typeof letter === "string" ? this.find(letter) : [];
    for (const [x, y] of drawn) this.rows[y][x] = this.isInside([x, y]) ? "." : "#";
    const operations = this.isInside(cell) && this.rows[cell[1]][cell[0]] === "#" ? this.paint([cell], ".") : drawn.length ? this.written() : [];
    return [...operations, places ? set([...this.path, "grid", "places", name], cell) : set([...this.path, "grid", "places"], { [name]: cell })];
  }

  // Another size: what stands in the right or lower wall stays in it.
  resized(document, width, height) {
    const move = ([x, y]) => [x > this.width ? width + 1 : Math.min(x, width), y > this.height ? height + 1 : Math.min(y, height)];
    const before = this.rows, [w, h] = [this.width, this.height], inside = (x, y) => x >= 1 && y >= 1 && x <= width && y <= height;
    this.rows = Array.from({ length: height + 2 }, (_, y) => Array.from({ length: width + 2 }, (_, x) => (inside(x, y) ? (x <= w && y <= h ? before[y][x] : ".") : "#")));
    before.forEach((row, y) => row.forEach((letter, x) => {
      if (this.isInside([x, y]) || letter === "#") return;
      const [a, b] = move([x, y]);
      this.rows[b][a] = letter;
    }));
    const operations = this.written(), moved = (target) => (Array.isArray(target) && target.length === 2 && target.every((each) => typeof each === "number") ? move(target)
      : Array.isArray(target) ? target.map(moved) : target && typeof target === "object" && target.at ? { ...target, at: moved(target.at) } : target);
    const change = (path, value) => { if (JSON.stringify(moved(value)) !== JSON.stringify(value)) operations.push(set(path, moved(value))); };
    for (const [name, place] of Object.entries(this.grid.places ?? {})) change([...this.path, "grid", "places", name], place);
    for (const { path } of [...this.users, { path: this.path }]) for (const kind of ["start", "goal"]) {
      const stated = valueAt(document, path)[kind];
      if (stated !== undefined && !operations.some((each) => JSON.stringify(each.path) === JSON.stringify([...path, kind]))) change([...path, kind], stated);
    }
    return operations;
  }
}

function added(one, other) {
  const sum = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const before = sum[name];
    sum[name] = before === undefined ? value : typeof value === "object" ? added(before, value) : typeof before === "number" && typeof value === "number" ? before + value : `(${before}) + (${value})`;
  }
  return sum;
}

// ---- The procedure ----

export const outcomesOf = (choice) => (Array.isArray(choice) ? choice : [choice ?? {}]);
const written = (outcomes) => (outcomes.length === 1 ? (({ probability, ...rest }) => rest)(outcomes[0]) : outcomes);
export const targets = (outcome) => (typeof outcome?.to === "object" && outcome.to !== null ? Object.values(outcome.to) : outcome?.to === undefined ? [] : [outcome.to]);
export const choicePath = (event, choice) => ["procedure", "events", event, choice];

// Every event that is mentioned, the end among them.
export function eventsOf(document) {
  const { start, end, events } = document?.procedure ?? {};
  const mentioned = Object.values(events ?? {}).flatMap((choices) => Object.values(choices ?? {}).flatMap((choice) => outcomesOf(choice).flatMap(targets)));
  return [...new Set([start, ...Object.keys(events ?? {}), ...mentioned, end])].filter((each) => typeof each === "string");
}

// A file with one activity needs no procedure; to add a second one, it gets the one that it stands for.
export function withProcedure(document) {
  if (document.procedure) return document.procedure.events ? [] : [set(["procedure", "events"], {})];
  const [only] = Object.keys(document.activities ?? {});
  return [set(["procedure"], { start: "start", end: "end", events: { start: only === undefined ? {} : { go: { runs: only, to: "end" } } } })];
}

const redirected = (outcome, change) => {
  if (typeof outcome?.to === "string") return { ...outcome, to: change(outcome.to) };
  if (outcome?.to && typeof outcome.to === "object") return { ...outcome, to: Object.fromEntries(Object.entries(outcome.to).map(([exit, event]) => [exit, change(event)])) };
  return outcome;
};
// Changes outcomes wherever they stand; `change` answers with the outcome itself where it stays.
function everywhere(document, change) {
  return Object.entries(document.procedure?.events ?? {}).flatMap(([event, choices]) => Object.entries(choices ?? {}).flatMap(([name, choice]) => {
    const before = outcomesOf(choice), after = before.map((outcome) => change(outcome, event));
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [set(choicePath(event, name), written(after))];
  }));
}

export function addEvent(document, name) {
  const first = withProcedure(document), now = applied(document, first);
  return [...first, set(["procedure", "events", name], { go: { to: now.procedure.end } })];
}

export function renameEvent(document, from, to) {
  const operations = everywhere(document, (outcome) => redirected(outcome, (event) => (event === from ? to : event)));
  for (const key of ["start", "end"]) if (document.procedure[key] === from) operations.push(set(["procedure", key], to));
  if (document.procedure.events && from in document.procedure.events) operations.push({ op: "rename", path: ["procedure", "events", from], to });
  return operations;
}

// What led to the event leads on to where its first choice led.
export function removeEvent(document, event) {
  const { events, end } = document.procedure, onward = targets(outcomesOf(Object.values(events[event] ?? {})[0])[0]).find((each) => each !== event) ?? end;
  const operations = everywhere(document, (outcome, from) => (from === event ? outcome : redirected(outcome, (each) => (each === event ? onward : each))));
  if (document.procedure.start === event) operations.push(set(["procedure", "start"], onward));
  return [...operations.filter(({ path }) => path[2] !== event), remove(["procedure", "events", event])];
}

export function connect(document, from, to, runs) {
  const first = withProcedure(document), now = applied(document, first), choices = now.procedure.events?.[from];
  const name = freeName(runs ?? `to ${to}`, Object.keys(choices ?? {})), outcome = { ...(runs ? { runs } : {}), to };
  return [...first, choices ? set(choicePath(from, name), outcome) : set(["procedure", "events", from], { [name]: outcome })];
}

export const setOutcomes = (event, choice, outcomes) => [set(choicePath(event, choice), written(outcomes))];
// Chance: one more outcome, half as probable as the others together are now.
export function addOutcome(event, choice, outcomes) {
  const count = outcomes.length + 1;
  const shared = outcomes.length === 1 ? [{ probability: 0.5, ...outcomes[0] }] : outcomes.map((each) => ({ ...each, probability: typeof each.probability === "number" ? Number((each.probability * (count - 1) / count).toPrecision(12)) : `(${each.probability}) * ${count - 1}/${count}` }));
  return setOutcomes(event, choice, [...shared, { probability: count === 2 ? 0.5 : `1/${count}`, to: targets(outcomes[0])[0] ?? event }]);
}
export function removeOutcome(event, choice, outcomes, at) {
  const rest = outcomes.filter((_, index) => index !== at);
  return rest.length ? setOutcomes(event, choice, rest) : [remove(choicePath(event, choice))];
}

// Every way a choice can turn out by chance, also in the procedures inside.
export function chancesOf(document) {
  return folders(document).flatMap((folder) => Object.entries(valueAt(document, [...folder, "procedure", "events"]) ?? {}).flatMap(([event, choices]) => Object.entries(choices ?? {}).flatMap(([name, stated]) => {
    const outcomes = outcomesOf(stated), path = [...folder, "procedure", "events", event, name];
    return outcomes.length > 1 ? outcomes.map((outcome, at) => ({ path, event, name, outcomes, at, to: outcome?.runs ?? targets(outcome).join(" or ") })) : [];
  })));
}
// One outcome has happened: it is certain from now on.
export const certain = ({ path, outcomes, at }) => [set(path, outcomes.map((each, index) => ({ ...each, probability: index === at ? 1 : 0 })))];

// A room of its own behind the last one: its start lies in the wall that they share, and it is run before the end.
export function addRoom(document, corners) {
  const rooms = roomsOf(document).map((entry) => new Room(document, entry)), names = [...Object.keys(document.activities ?? {}), ...Object.keys(document.models ?? {}), ...eventsOf(document)];
  const name = freeName(`room ${rooms.length + 1}`, names), cornerOf = (room) => corners[room.name] ?? [0, 0];
  const last = rooms.reduce((best, room) => (!best || cornerOf(room)[0] + room.width > cornerOf(best)[0] + best.width ? room : best), null);
  const width = last ? Math.min(last.width, 8) : 8, height = last?.height ?? 5;
  const door = last?.signs(document).find(({ kind, cell }) => kind === "goal" && cell[0] > last.width)?.cell[1] ?? Math.ceil(height / 2);
  const operations = [], isPlaced = rooms.every((room) => valueAt(document, room.path).position);
  if (rooms.length === 1 && !isPlaced) operations.push(set([...last.path, "position"], [0, 0]));
  const row = (y) => (y === door ? `S${".".repeat(width)}G` : `#${".".repeat(width)}#`), wall = "#".repeat(width + 2);
  const map = `${[wall, ...Array.from({ length: height }, (_, at) => row(at + 1)), wall].join("\n")}\n`;
  const own = last && (isPlaced || rooms.length === 1) ? valueAt(document, last.path).position ?? [0, 0] : null;
  const slip = last?.grid.slip !== undefined ? { slip: last.grid.slip } : last?.grid.intended !== undefined ? { intended: last.grid.intended } : {};
  const room = { grid: { map, ...slip }, ...(own ? { position: [own[0] + last.width + 1, own[1]] } : {}) };
  operations.push(document.activities ? set(["activities", name], room) : set(["activities"], { [name]: room }));
  if (!Object.keys(document.activities ?? {}).length) return operations;
  operations.push(...withProcedure(document));
  const now = applied(document, operations), { end } = now.procedure, event = freeName(`at ${name}`, eventsOf(now));
  return [...operations, ...everywhere(now, (outcome) => redirected(outcome, (each) => (each === end ? event : each))), set(["procedure", "events", event], { go: { runs: name, to: end } })];
}

export function removeRoom(document, { path, users }) {
  const gone = new Set(users.map(({ name }) => name)), used = users.filter((user) => JSON.stringify(user.path) !== JSON.stringify(path));
  return [...everywhere(document, (outcome) => (gone.has(outcome?.runs) ? (({ runs, ...rest }) => rest)(outcome) : outcome)), ...used.map((user) => remove(user.path)), remove(path)];
}

// Numbers that a form can change, in groups: [{ title, figures: [{ path, label, value }] }].
const NO_FIGURES = new Set(["map", "walls", "at", "places", "start", "goal", "position", "model", "file", "width", "height", "counts", "of", "runs", "entries", "hands_over", "procedure", "letters", "constants"]);
export function figureGroups(document) {
  const parameters = parametersOf(document), groups = [];
  const collect = (node, path, label, into) => {
    if (typeof node === "number" || (typeof node === "string" && !Number.isNaN(evaluated(node, parameters)))) into.push({ path, label: label.join(" › "), value: node });
    else if (node && typeof node === "object") for (const [key, child] of Object.entries(node)) {
      if (NO_FIGURES.has(key) && !Array.isArray(node)) continue;
      collect(child, [...path, Array.isArray(node) ? Number(key) : key], Array.isArray(node) ? [...label, String(Number(key) + 1)] : key === "grid" || key === "table" ? label : [...label, key], into);
    }
  };
  const group = (title, path) => {
    const figures = [];
    collect(valueAt(document, path), path, [], figures);
    if (figures.length) groups.push({ title, path, figures });
  };
  group("Parameters", ["parameters"]);
  group("Capacities", ["capacities"]);
  for (const folder of folders(document)) for (const key of ["models", "activities"]) for (const name of Object.keys(valueAt(document, [...folder, key]) ?? {})) group([...folder.slice(1), name].join(" / "), [...folder, key, name]);
  return groups;
}
