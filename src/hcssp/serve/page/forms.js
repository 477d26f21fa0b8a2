// The forms beside the map: tools and rooms, events and choices, numbers, and the text of the file.

import * as edits from "./document.js";
import { BRUSHES, hazardName } from "./painter.js";

// Draws a form again and leaves the keyboard where it was.
export function redraw(host, ...children) {
  const focused = host.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  host.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  if (focused !== undefined) [...host.querySelectorAll("[data-key]")].find((each) => each.dataset.key === focused)?.focus();
}
export const button = (text, act, attributes = {}) => html("button", { type: "button", onclick: act, "data-key": text, ...attributes }, text);
export function choice(options, value, act, attributes = {}) {
  const made = html("select", { onchange: () => act(made.value), ...attributes }, options.map((each) => (Array.isArray(each) ? html("option", { value: each[0] }, shortened(each[1], 60)) : html("option", { value: each }, shortened(String(each), 60)))));
  made.value = value ?? "";
  return made;
}
export const entry = (value, act, attributes = {}) => {
  const made = html("input", { value: value ?? "", size: 8, onchange: () => act(made.value.trim()), ...attributes });
  return made;
};
export const labelled = (words, control, attributes = {}) => html("label", { class: "field", ...attributes }, html("span", {}, words), control);
function radios(name, options, value, act, label) {
  return html("div", { class: "choices", role: "radiogroup", "aria-label": label }, options.map(([key, words, extra]) => html("label", { class: "radio" },
    html("input", { type: "radio", name, value: key, checked: key === value, "data-key": `${name} ${key}`, onchange: () => act(key) }), extra ?? null, html("span", {}, words))));
}
// What was typed as the file has it: a number where it is one, else an expression.
export const typed = (text) => (text !== "" && Number.isFinite(Number(text)) ? Number(text) : text);

const TOOLS = [["look", "Look"], ["wall", "Wall"], ["floor", "Floor"], ["hazard", "Hazard"], ["start", "Start"], ["goal", "Goal"], ["place", "Door or place"]];

// app: document(), edit(operations, words), say(words), corners(), costs()
export function drawTools(host, app, painter) {
  const file = app.document(), rooms = edits.roomsOf(file);
  if (!file) { redraw(host, html("p", { class: "help" }, "The text is not a valid problem; correct it under “Text” to continue drawing.")); return; }
  const again = () => { drawTools(host, app, painter); painter.draw(); };
  const found = rooms.find(({ name }) => name === painter.name) ?? rooms[0], room = found ? new edits.Room(file, found) : null;
  painter.name = found?.name ?? null;
  if (painter.user === null || !found?.users.some(({ name }) => name === painter.user)) painter.user = found?.users[0]?.name ?? null;
  const letters = room ? Object.keys(room.hazards) : [];
  if (!letters.includes(painter.letter)) painter.letter = letters[0] ?? null;
  const parts = [radios("tool", TOOLS, painter.tool, (tool) => { painter.tool = tool; painter.anchor = null; again(); }, "Tool")];
  if (BRUSHES.includes(painter.tool)) parts.push(radios("shape", [["brush", "Brush"], ["rectangle", "Rectangle"], ["fill", "Fill"]], painter.shape, (shape) => { painter.shape = shape; again(); }, "Shape"));
  if (room && painter.tool === "hazard") parts.push(hazardForm(room, app, painter, again));
  if (room && (painter.tool === "start" || painter.tool === "goal")) parts.push(labelled(`${capital(painter.tool)} of`, choice(room.users.map(({ name }) => name), painter.user, (name) => { painter.user = name; again(); }, { "data-key": "user" })),
    html("label", { class: "check" }, html("input", { type: "checkbox", checked: painter.also, "data-key": "also", onchange: (event) => { painter.also = event.target.checked; } }), ` keep the other ${painter.tool}s`));
  if (room && painter.tool === "place") parts.push(labelled("Called", entry(painter.place, (name) => { painter.place = name; }, { list: "place-names", "data-key": "place" })), html("datalist", { id: "place-names" }, Object.keys(room.places).map((value) => html("option", { value }))));
  parts.push(html("h3", {}, "Room"), html("div", { class: "row" },
    found ? choice(rooms.map(({ name }) => name), found.name, (name) => { painter.name = name; again(); }, { "aria-label": "Room", "data-key": "room" }) : html("p", { class: "help" }, "There is no room yet."),
    button("Add a room", () => { app.edit(edits.addRoom(file, app.corners()), "A room was added; the procedure runs it last."); }),
    rooms.length > 1 ? button("Remove", () => app.edit(edits.removeRoom(file, found), `${found.name} was removed.`), { "data-key": "remove room" }) : null));
  if (room) {
    const size = (words, value, resize) => labelled(words, entry(value, (text) => { const count = Math.round(Number(text)); if (count >= 1 && count <= 200) app.edit(resize(count), `${room.name} has another size.`); else app.say("A room has 1 to 200 cells along a side."); }, { type: "number", min: 1, max: 200, "data-key": words }));
    parts.push(html("div", { class: "row" }, size("columns", room.width, (count) => new edits.Room(file, found).resized(file, count, room.height)), size("rows", room.height, (count) => new edits.Room(file, found).resized(file, room.width, count))),
      html("p", { class: "help" }, room.users.length ? `Activities here: ${room.users.map(({ name }) => name).join(", ")}.` : "There is no activity in this room.", room.drawn ? "" : " The room is stated by rectangles; painting makes a map of them."),
      found.path[0] === "models" ? button("Add an activity here", () => {
        const name = edits.freeName(`cross ${room.name}`, Object.keys(file.activities ?? {}));
        app.edit([{ op: "set", path: ["activities", name], value: { model: room.name, start: [1, 1], goal: [room.width, room.height] } }], `${name} was added; choose it under “Procedure” to run it.`);
      }) : null);
  }
  redraw(host, parts);
}

function hazardForm(room, app, painter, again) {
  const costs = app.costs(), put = (letter, meaning, words) => {
    room.hazards[letter] = meaning;
    const operations = room.drawn && room.grid.hazards ? [{ op: "set", path: [...room.path, "grid", "hazards", letter], value: meaning }] : room.written();
    app.edit(operations, words);
  };
  const swatch = (letter) => html("span", { class: "swatch", "aria-hidden": "true" }, letter);
  const chosen = painter.letter === null ? null : room.hazards[painter.letter];
  return html("fieldset", {}, html("legend", {}, "Hazard: additional costs of every step from a cell"),
    painter.letter === null ? html("p", { class: "help" }, "This room has no hazard yet.") : radios("hazard", Object.entries(room.hazards).map(([letter, meaning]) => [letter, hazardName(meaning), swatch(letter)]), painter.letter, (letter) => { painter.letter = letter; again(); }, "Kind of hazard"),
    chosen ? html("div", { class: "row" }, costs.map((name) => labelled(name, entry(chosen[name], (text) => {
      const { [name]: _, ...rest } = chosen;
      put(painter.letter, text === "" ? rest : { ...rest, [name]: typed(text) }, "The costs of the hazard were changed.");
    }, { "data-key": `hazard ${name}` })))) : null,
    button("Add a hazard", () => {
      const letter = room.letterFor({ [costs[1] ?? costs[0]]: 1 });
      painter.letter = letter;
      put(letter, room.hazards[letter], "A hazard was added: set its costs, then paint it.");
    }));
}

// The procedure: one event at a time, with its choices, and chance where a choice has several outcomes.
export function drawProcedureForm(host, app, view) {
  const file = app.document();
  if (!file) { redraw(host, html("p", { class: "help" }, "The text is not a valid problem; correct it under “Text”.")); return; }
  const again = () => drawProcedureForm(host, app, view);
  if (!file.procedure) {
    redraw(host, html("p", {}, "This problem has one activity and needs no procedure."), button("Make a procedure", () => app.edit(edits.withProcedure(file), "A procedure was made.")));
    return;
  }
  const { procedure } = file, events = edits.eventsOf(file), activities = Object.keys(file.activities ?? {});
  if (!events.includes(view.event)) view.event = procedure.start;
  const { event } = view, choices = Object.entries(procedure.events?.[event] ?? {});
  const change = (name, outcomes, words) => app.edit(edits.setOutcomes(event, name, outcomes), words);
  const parts = [html("div", { class: "row" }, choice(events, event, (name) => { view.event = name; again(); app.chosen(); }, { "aria-label": "Event", "data-key": "event" }),
    button("Add an event", () => { const name = edits.freeName("event", events); view.event = name; app.edit(edits.addEvent(file, name), `${name} was added.`); })),
  html("div", { class: "row" }, labelled("Name", entry(event, (name) => {
    if (!name || events.includes(name)) { app.say("This name is already used by another event."); again(); return; }
    view.event = name;
    app.edit(edits.renameEvent(file, event, name), `${event} is called ${name}.`);
  }, { "data-key": "name", size: 18 })),
  event === procedure.start ? html("span", { class: "badge" }, "the start") : event === procedure.end ? html("span", { class: "badge" }, "the end") : [
    button("Make it the start", () => app.edit([{ op: "set", path: ["procedure", "start"], value: event }], `The procedure starts at ${event}.`)),
    button("Remove", () => { view.event = null; app.edit(edits.removeEvent(file, event), `${event} was removed; what led there leads on.`); }, { "data-key": "remove event" })])];
  for (const [name, stated] of choices) {
    const outcomes = edits.outcomesOf(stated), key = (part, at) => `${name} ${part} ${at}`;
    const put = (at, part, words) => change(name, outcomes.map((each, index) => (index === at ? part : each)), words);
    parts.push(html("fieldset", {}, html("legend", {}, "Choice"),
      html("div", { class: "row" }, entry(name, (to) => { if (to && !choices.some(([each]) => each === to)) app.edit([{ op: "rename", path: edits.choicePath(event, name), to }], `${name} is called ${to}.`); }, { "aria-label": "Name of the choice", "data-key": key("name", 0), size: 18 }),
        button("Remove", () => app.edit([{ op: "delete", path: edits.choicePath(event, name) }], `${name} was removed.`), { "data-key": key("remove", 0), "aria-label": `Remove the choice ${name}` })),
      outcomes.map((outcome, at) => {
        const { runs, ...free } = outcome;
        const ways = typeof outcome.to === "object" && outcome.to !== null ? Object.entries(outcome.to).map(([exit, to]) => [`after ${exit}, to`, to, (next) => ({ ...outcome, to: { ...outcome.to, [exit]: next } })]) : [["to", outcome.to, (next) => ({ ...outcome, to: next })]];
        return html("div", { class: "row outcome" }, outcomes.length > 1 ? labelled("with", entry(outcome.probability, (text) => put(at, { ...outcome, probability: typed(text) }, "A probability was changed."), { "data-key": key("probability", at), "aria-label": `Probability of outcome ${at + 1} of ${name}` })) : null,
          labelled("run", choice([["", "nothing"], ...activities.map((each) => [each, each])], runs ?? "", (next) => put(at, next ? { ...free, runs: next } : free, `${name} runs ${next || "nothing"}.`), { "data-key": key("runs", at) })),
          ways.map(([words, to, next], way) => labelled(words, choice(events, to, (wanted) => put(at, next(wanted), `${name} leads to ${wanted}.`), { "data-key": key("to", `${at} ${way}`) }))),
          outcomes.length > 1 ? button("×", () => app.edit(edits.removeOutcome(event, name, outcomes, at), "An outcome was removed; the probabilities must sum to 1."), { "aria-label": `Remove outcome ${at + 1} of ${name}`, "data-key": key("drop", at) }) : null);
      }),
      button("Add chance", () => app.edit(edits.addOutcome(event, name, outcomes), `${name} has ${outcomes.length + 1} outcomes.`), { "data-key": key("chance", 0), title: "one more outcome, with a probability" })));
  }
  if (event !== procedure.end) parts.push(html("div", { class: "row" }, labelled("New choice, to", choice(events, view.target ?? procedure.end, (to) => { view.target = to; }, { "data-key": "target" })),
    button("Connect", () => app.edit(edits.connect(file, event, view.target ?? procedure.end), `${event} leads to ${view.target ?? procedure.end}.`))));
  redraw(host, parts);
}

// Numbers by where they stand; long lists are made when they are opened.
export function drawFigures(host, app, open = new Set(["Parameters"])) {
  const file = app.document();
  if (!file) { redraw(host, html("p", { class: "help" }, "The text is not a valid problem.")); return; }
  const limits = Object.entries(file.constraints ?? {}), costs = app.costs();
  const row = ({ path, label, value }) => labelled(label, entry(value, (text) => app.edit([{ op: "set", path, value: typed(text) }], `${label} is ${text}.`), { "data-key": path.join("/") }));
  const groups = edits.figureGroups(file).map(({ title, figures }) => {
    const body = html("div", { class: "figures" }), details = html("details", { open: open.has(title) }, html("summary", {}, title, html("small", {}, ` ${figures.length}`)), body);
    const fillIn = () => { if (details.open && !body.childNodes.length) body.append(...figures.slice(0, 400).map(row)); };
    details.addEventListener("toggle", () => { open[details.open ? "add" : "delete"](title); fillIn(); });
    fillIn();
    return details;
  });
  const free = costs.filter((name) => !(name in (file.constraints ?? {})));
  redraw(host, labelled("Name", entry(file.name, (text) => app.edit([{ op: "set", path: ["name"], value: text }], "The name was changed."), { "data-key": "name", size: 20 })),
    html("div", { class: "row" }, labelled("Costs (the first is minimised)", entry(costs.join(", "), (text) => app.edit([{ op: "set", path: ["costs"], value: text.split(",").map((each) => each.trim()).filter(Boolean) }], "The costs were changed."), { "data-key": "costs", size: 24 }))),
    html("div", { class: "row" }, free.length ? button("Bound a cost", () => { const name = free.at(-1); app.edit([file.constraints ? { op: "set", path: ["constraints", name], value: { at_most: 10 } } : { op: "set", path: ["constraints"], value: { [name]: { at_most: 10 } } }], `${name} is bounded by 10.`); }) : null,
      limits.map(([name]) => button(`No bound on ${name}`, () => app.edit([{ op: "delete", path: limits.length === 1 ? ["constraints"] : ["constraints", name] }], `${name} is not bounded.`)))),
    file.parameters ? null : button("Add a parameter", () => app.edit([{ op: "set", path: ["parameters"], value: { p: 0.1 } }], "A parameter p was added.")), groups);
}

// The text with its line numbers; errors stand at their lines. What is typed is sent after a pause.
export class TextEditor {
  constructor(area, gutter, send) {
    Object.assign(this, { area, gutter, send, timer: null, errors: [] });
    area.addEventListener("input", () => {
      this.number();
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.flush(), 400);
    });
    area.addEventListener("scroll", () => { gutter.scrollTop = area.scrollTop; }, { passive: true });
    area.addEventListener("blur", () => this.flush());
  }

  flush() {
    if (this.timer === null) return;
    clearTimeout(this.timer);
    this.timer = null;
    if (this.area.value !== this.text) this.send(this.area.value);
  }

  show(text, errors) {
    this.errors = errors;
    this.text = text;
    // What is being typed is newer.
    if (this.timer === null && this.area.value !== text) this.area.value = text;
    this.number();
  }

  number() {
    // So long a text has no numbers.
    if (this.area.value.length > 400_000) { this.gutter.replaceChildren(); return; }
    const wrong = new Map(this.errors.map(({ line, message }) => [line, message])), count = this.area.value.split("\n").length;
    this.gutter.replaceChildren(...Array.from({ length: count }, (_, at) => (wrong.has(at + 1) ? html("span", { class: "wrong", title: wrong.get(at + 1) }, String(at + 1)) : html("span", {}, String(at + 1)))));
    this.gutter.scrollTop = this.area.scrollTop;
  }

  go(line) {
    const lines = this.area.value.split("\n"), from = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
    this.area.focus();
    this.area.setSelectionRange(from, from + (lines[line - 1] ?? "").length);
    this.area.scrollTop = Math.max(0, (line - 4) * parseFloat(getComputedStyle(this.area).lineHeight));
  }
}
