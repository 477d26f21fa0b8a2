// Painting on the map: by mouse, pen and finger, or by the arrow keys and the space bar. Every stroke is one edit.

import { sameCell } from "./document.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
export const BRUSHES = ["wall", "floor", "hazard"];
const keyOf = (cell) => cell.join();

export class Painter {
  // hooks: document() and rooms() are what is shown now, the latter with its corners on the sheet; edit(operations, words)
  // makes a change; choose(room) shows another room's tools; say(words) is read aloud
  constructor(sheet, hooks) {
    Object.assign(this, { sheet, hooks, tool: "look", shape: "brush", letter: null, user: null, place: "door", also: false, name: null, cursor: null, anchor: null, stroke: null });
    this.layer = svg("g", { class: "edit" });
    sheet.element.insertBefore(this.layer, sheet.layers.tokens);
    const frame = sheet.element, whenOn = (act) => (event) => {
      if (this.tool === "look") return;
      if (act(event) === false) return;
      event.stopImmediatePropagation();
      event.preventDefault();
    };
    // Before the sheet's own listeners, which move the view.
    const capture = { capture: true };
    frame.addEventListener("pointerdown", whenOn((event) => this.begin(event)), capture);
    frame.addEventListener("pointermove", whenOn((event) => this.go(event)), capture);
    frame.addEventListener("pointerup", whenOn(() => this.finish()), capture);
    frame.addEventListener("pointercancel", whenOn(() => { this.stroke = null; this.draw(); }), capture);
    frame.addEventListener("pointerleave", whenOn(() => { if (!this.stroke && !this.byKeys) { this.cursor = null; this.drawCursor(); } }), capture);
    frame.addEventListener("keydown", whenOn((event) => this.press(event)), capture);
    frame.addEventListener("blur", () => { this.byKeys = false; this.cursor = this.anchor = null; this.drawCursor(); });
  }

  // The room that is meant at a cell of the sheet: in a wall that two share, the chosen one.
  spotAt([x, y]) {
    const found = this.hooks.rooms().map(({ room, corner }) => ({ room, corner, cell: [x - corner[0], y - corner[1]] }));
    return found.find(({ room, cell }) => room.isInside(cell)) ?? found.find(({ room, cell }) => room.name === this.name && room.isIn(cell)) ?? found.find(({ room, cell }) => room.isIn(cell)) ?? null;
  }

  chosen() {
    return this.hooks.rooms().find(({ room }) => room.name === this.name) ?? this.hooks.rooms()[0] ?? null;
  }

  begin(event) {
    if (event.button) return false;
    const at = this.sheet.under(event), spot = this.spotAt(at);
    this.sheet.element.focus({ preventScroll: true });
    if (!spot) return false;
    this.byKeys = false;
    this.sheet.element.setPointerCapture(event.pointerId);
    if (spot.room.name !== this.name) this.hooks.choose(spot.room.name);
    this.stroke = { ...spot, from: spot.cell, last: spot.cell, cells: [spot.cell] };
    this.drawCursor();
    return true;
  }

  go(event) {
    const at = this.sheet.under(event);
    this.cursor = at;
    if (this.stroke) {
      const { corner, last, cells, from } = this.stroke, cell = [at[0] - corner[0], at[1] - corner[1]];
      if (!BRUSHES.includes(this.tool)) this.stroke.cells = [cell];
      else if (this.shape === "rectangle") this.stroke.cells = rectangle(from, cell);
      else if (this.shape === "brush" && !sameCell(cell, last)) cells.push(...line(last, cell));
      this.stroke.last = cell;
    }
    this.drawCursor();
  }

  finish() {
    const stroke = this.stroke;
    this.stroke = null;
    if (stroke) this.apply(stroke);
    this.drawCursor();
  }

  apply({ room, cells }) {
    const at = cells.at(-1), document = this.hooks.document();
    if (BRUSHES.includes(this.tool)) {
      const letter = { wall: "#", floor: ".", hazard: this.letter }[this.tool];
      if (letter === null || letter === undefined) { this.hooks.say("Add a hazard first."); return; }
      const kept = this.shape === "fill" ? room.flood(at) : cells.filter((cell) => room.isIn(cell));
      const count = new Set(kept.map(keyOf)).size, converted = room.drawn ? "" : ` The rectangles of ${room.name} are a map from now on.`;
      const operations = room.paint(kept, letter);
      if (operations.length) this.hooks.edit(operations, `${count === 1 ? "One cell" : `${count} cells`} of ${room.name}: ${this.meaning(room, letter)}.${converted}`);
    } else if (!room.isIn(at)) this.hooks.say("This cell is outside of the room.");
    else if (this.tool === "place") this.hooks.edit(room.putPlace(this.place || "door", at), `${this.place || "door"} is at column ${at[0]}, row ${at[1]}.`);
    else {
      const user = room.users.find(({ name }) => name === this.user) ?? room.users[0];
      if (!user) this.hooks.say("No activity uses this room; add one first.");
      else this.hooks.edit(room.putSign(document, this.tool, user, at, this.also), `${user.name} has a ${this.tool} at column ${at[0]}, row ${at[1]}.`);
    }
  }

  meaning(room, letter) {
    const hazard = room.hazards[letter];
    return letter === "#" ? "wall" : hazard ? hazardName(hazard) : letter === "S" ? "start" : letter === "G" ? "goal" : "free";
  }

  words([x, y]) {
    const spot = this.spotAt([x, y]);
    if (!spot) return "outside";
    const { room, cell } = spot, signs = room.signs(this.hooks.document()).filter((sign) => sameCell(sign.cell, cell));
    return `${room.name}, column ${cell[0]}, row ${cell[1]}: ${signs.length ? signs.map(({ kind, name }) => (kind === "place" ? name : `${kind} of ${name}`)).join(", ") : this.meaning(room, room.rows[cell[1]][cell[0]])}`;
  }

  press(event) {
    const step = ARROWS[event.key];
    if (step) {
      if (!this.cursor || !this.byKeys) {
        const chosen = this.chosen();
        if (!chosen) return false;
        this.cursor = [chosen.corner[0] + 1, chosen.corner[1] + 1];
      } else this.cursor = [this.cursor[0] + step[0], this.cursor[1] + step[1]];
      this.byKeys = true;
      if (event.shiftKey && BRUSHES.includes(this.tool)) this.dab();
      this.hooks.say(this.words(this.cursor));
    } else if ((event.key === " " || event.key === "Enter") && this.cursor) {
      const spot = this.spotAt(this.cursor);
      if (!spot) return true;
      if (spot.room.name !== this.name) this.hooks.choose(spot.room.name);
      if (BRUSHES.includes(this.tool) && this.shape === "rectangle" && !this.anchor) {
        this.anchor = this.cursor;
        this.hooks.say("First corner set; move to the opposite corner and press space.");
      } else this.dab();
    } else if (event.key === "Escape") {
      if (this.anchor) this.anchor = null;
      else this.hooks.done();
    } else return false;
    this.drawCursor();
    return true;
  }

  dab() {
    const spot = this.spotAt(this.cursor);
    if (!spot) return;
    const { corner, cell } = spot, first = this.anchor && [this.anchor[0] - corner[0], this.anchor[1] - corner[1]];
    this.anchor = null;
    this.apply({ ...spot, cells: first ? rectangle(first, cell) : [cell] });
  }

  // The chosen room's cells and signs, and the rooms with errors.
  draw(faulty = this.faulty ?? []) {
    this.faulty = faulty;
    const parts = [], on = this.tool !== "look", chosen = this.chosen(), document = this.hooks.document();
    this.sheet.element.classList.toggle("painting", on);
    for (const { room, corner } of this.hooks.rooms()) {
      const box = { x: corner[0], y: corner[1], width: room.width + 2, height: room.height + 2 };
      if (faulty.includes(room.name)) parts.push(svg("rect", { class: "faulty", ...box }, svg("title", {}, "The problem's text has an error here.")));
      if (on && room.name === chosen?.room.name) {
        let d = "";
        for (let x = 1; x < room.width; x++) d += `M${corner[0] + x + 1} ${corner[1] + 1}v${room.height}`;
        for (let y = 1; y < room.height; y++) d += `M${corner[0] + 1} ${corner[1] + y + 1}h${room.width}`;
        parts.push(svg("path", { class: "cell-lines", d }), svg("rect", { class: "chosen-room", ...box }));
      }
      if (!document || (!on && this.hooks.hasPlan())) continue;
      const size = Math.max(0.28, 5 / (this.sheet.pixels || 20));
      for (const { kind, cell, name } of room.signs(document)) {
        const [x, y] = [corner[0] + cell[0] + 0.5, corner[1] + cell[1] + 0.5], sign = kind === "start" ? circle(x, y, size) : kind === "goal" ? star(x, y, size * 1.45)
          : svg("rect", { class: "mark place", x: x - size * 0.8, y: y - size * 0.8, width: 1.6 * size, height: 1.6 * size });
        sign.append(svg("title", {}, kind === "place" ? name : `${kind} of ${name}`));
        if (kind !== "place" && on && this.user && name !== this.user) sign.classList.add("other");
        parts.push(sign);
      }
    }
    this.preview = svg("g", {});
    this.layer.replaceChildren(...parts, this.preview);
    this.drawCursor();
  }

  drawCursor() {
    if (!this.preview) return;
    const parts = [];
    if (this.stroke && BRUSHES.includes(this.tool)) {
      const { corner, room } = this.stroke, cells = this.stroke.cells.filter((cell) => room.isIn(cell));
      parts.push(svg("path", { class: `stroke stroke-${this.tool}`, d: cells.map(([x, y]) => `M${corner[0] + x} ${corner[1] + y}h1v1h-1z`).join("") }));
    }
    if (this.anchor) parts.push(svg("rect", { class: "brush", x: Math.min(this.anchor[0], this.cursor[0]), y: Math.min(this.anchor[1], this.cursor[1]), width: Math.abs(this.anchor[0] - this.cursor[0]) + 1, height: Math.abs(this.anchor[1] - this.cursor[1]) + 1 }));
    if (this.cursor && this.tool !== "look") parts.push(svg("rect", { class: "brush", x: this.cursor[0], y: this.cursor[1], width: 1, height: 1 }));
    this.preview.replaceChildren(...parts);
  }
}

export const hazardName = ({ exit, ...costs }) => [...Object.entries(costs).map(([name, cost]) => `${name} ${cost}`), ...(typeof exit === "object" ? Object.entries(exit).map(([name, odds]) => `${odds} ${name}`) : [])].join(", ") || "hazard";

function rectangle([a, b], [c, d]) {
  const cells = [];
  for (let y = Math.min(b, d); y <= Math.max(b, d); y++) for (let x = Math.min(a, c); x <= Math.max(a, c); x++) cells.push([x, y]);
  return cells;
}

// Cells from one to another, without the first.
function line([a, b], [c, d]) {
  const steps = Math.max(Math.abs(c - a), Math.abs(d - b));
  return Array.from({ length: steps }, (_, at) => [Math.round(a + ((c - a) * (at + 1)) / steps), Math.round(b + ((d - b) * (at + 1)) / steps)]);
}
