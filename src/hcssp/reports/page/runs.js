// Simulated runs on the map, step by step. Every run is a list of legs; an event takes no step.

const still = matchMedia("(prefers-reduced-motion: reduce)");

// Where a run is after each step, what it has cost by then, and what has happened.
function unfold(run) {
  const places = [], story = [{ step: 0, text: `starts at ${run.before.map((event) => data.problem.events[event]).join(", then ")}` }];
  for (const leg of run.legs) {
    const panel = panelOf(data, leg.activity), name = data.problem.activities[leg.activity].name;
    story.push({ step: places.length, text: `runs ${name}` });
    let cell = leg.cell ? placed(panel, leg.cell) : [panel.corner[0] + panel.width / 2 - 0.5, panel.corner[1] + panel.height * 0.3];
    for (let step = 0; step < leg.steps; step++) {
      places.push({ activity: leg.activity, x: cell[0], y: cell[1] });
      if (leg.moves && leg.moves[step] !== undefined) {
        const [right, down] = STEPS[Number(leg.moves[step])];
        cell = [cell[0] + right, cell[1] + down];
      }
    }
    if (leg.events.length) story.push({ step: places.length, text: `reaches ${leg.events.map((event) => data.problem.events[event]).join(", then ")}` });
    leg.last = { activity: leg.activity, x: cell[0], y: cell[1] };
  }
  places.push(run.legs.length ? run.legs[run.legs.length - 1].last : { activity: null, x: 0, y: 0 });
  const names = [primary, ...data.problem.constraints], costs = [names.map(() => 0)];
  for (const [count, ...each] of run.costs) for (let at = 0; at < count; at++) costs.push(each.map((cost, index) => costs[costs.length - 1][index] + cost));
  return { places, costs, story, finished: run.finished };
}

// Plays the runs of a plan on a sheet; its controls stand in `host`, and `help` says what is seen.
class Player {
  constructor(sheet, host, help) {
    Object.assign(this, { sheet, host, help, step: 0, playing: false, followed: null });
    const button = (id, text, attributes = {}) => html("button", { type: "button", id, ...attributes }, text);
    host.replaceChildren(
      html("div", { class: "buttons", role: "group", "aria-label": "Simulated runs" }, button("play", "Play", { "aria-pressed": "false" }),
        button("step-back", "−1", { "aria-label": "One step back" }), button("step", "+1", { "aria-label": "One step on" }), button("rewind", "Start")),
      html("label", { for: "clock", class: "clock" }, "Step ", html("output", { id: "clock-value", for: "clock" }, "0")),
      html("input", { type: "range", id: "clock", min: 0, value: 0, step: 1 }),
      html("label", { for: "follow", class: "hidden-label" }, "Follow"), html("select", { id: "follow" }), html("p", { id: "run-words", class: "story" }));
    byId("play").addEventListener("click", () => this.toggle());
    byId("step").addEventListener("click", () => { this.pause(); this.go(this.step + 1); });
    byId("step-back").addEventListener("click", () => { this.pause(); this.go(this.step - 1); });
    byId("rewind").addEventListener("click", () => { this.pause(); this.go(0); });
    byId("clock").addEventListener("input", () => { this.pause(); this.go(Number(byId("clock").value)); });
    byId("follow").addEventListener("change", () => {
      this.followed = byId("follow").value === "" ? null : Number(byId("follow").value);
      this.measure();
      this.go(Math.min(this.step, this.length));
    });
  }

  show(plan) {
    this.pause();
    this.runs = plan.runs.map(unfold);
    this.host.hidden = this.runs.length === 0;
    if (!this.runs.length) return;
    this.help.textContent = `${this.runs.length} runs of this plan, drawn at random` + (hasMap(data)
      ? `: every circle is one; a diamond is one that has already cost some ${data.problem.constraints.join(" or ") || "costs"}.` : "; follow one of them to read what happens step by step.");
    const totals = (run) => [primary, ...data.problem.constraints].map((name, index) => `${name} ${withUnit(data, name, figure(run.costs[run.costs.length - 1][index], 1))}`).join(", ");
    byId("follow").replaceChildren(html("option", { value: "" }, "all of them"), ...this.runs.map((run, index) => html("option", { value: index }, `run ${index + 1}: ${totals(run)}`)));
    if (this.followed !== null && this.followed < this.runs.length) byId("follow").value = this.followed;
    else this.followed = null;
    this.measure();
    this.go(0);
  }

  measure() {
    const counted = this.followed === null ? this.runs : [this.runs[this.followed]];
    this.length = Math.max(...counted.map((run) => run.places.length - 1));
    byId("clock").max = this.length;
  }

  toggle() {
    if (this.playing) { this.pause(); return; }
    if (this.step >= this.length) this.go(0);
    this.playing = true;
    byId("play").textContent = "Pause";
    byId("play").setAttribute("aria-pressed", "true");
    // With less motion, a new picture is drawn only now and then.
    const [pause, stride] = still.matches ? [1200, 10] : [70, 1];
    this.timer = setInterval(() => {
      this.go(this.step + stride);
      if (this.step >= this.length) this.pause();
    }, pause);
  }

  pause() {
    clearInterval(this.timer);
    this.playing = false;
    byId("play").textContent = "Play";
    byId("play").setAttribute("aria-pressed", "false");
  }

  go(step) {
    this.step = Math.max(0, Math.min(this.length, step));
    byId("clock").value = this.step;
    byId("clock-value").textContent = `${this.step} of ${this.length}`;
    this.draw();
    this.write();
  }

  // At the start the map is shown without runs, so that nothing hides the plan.
  draw() {
    const layer = this.sheet.layers.tokens, size = Math.max(0.18, 4.5 / this.sheet.pixels), parts = [];
    if (this.step > 0 || this.playing) {
      this.runs.forEach((run, index) => {
        if (this.followed !== null && index !== this.followed) return;
        const at = Math.min(this.step, run.places.length - 1), place = run.places[at];
        if (!this.isOnMap(place)) return;
        if (this.followed !== null) parts.push(...this.trail(run, at));
        const hit = run.costs[at].slice(1).some((cost) => cost > 0), done = this.step >= run.places.length - 1;
        // Runs in the same cell stand a little apart.
        const angle = index * 2.4, away = this.followed === null ? 0.32 * size : 0;
        const x = place.x + 0.5 + away * Math.cos(angle), y = place.y + 0.5 + away * Math.sin(angle), r = hit ? size * 1.35 : size;
        const classes = `token${hit ? " hit" : ""}${done ? " done" : ""}`;
        parts.push(hit ? svg("polygon", { class: classes, points: `${x},${y - r} ${x + r},${y} ${x},${y + r} ${x - r},${y}` }) : svg("circle", { class: classes, cx: x, cy: y, r }));
      });
    }
    layer.replaceChildren(...parts);
  }

  isOnMap({ activity }) {
    const { only, activities } = this.sheet.shown;
    return activity === null || (only === null ? activities.includes(activity) : activity === only);
  }

  trail(run, until) {
    let d = "", before = null;
    for (let at = 0; at <= until; at++) {
      const place = run.places[at];
      if (!this.isOnMap(place)) { before = null; continue; }
      const far = before && Math.abs(place.x - before.x) + Math.abs(place.y - before.y) > 2;
      d += `${before && !far ? "L" : "M"}${place.x + 0.5} ${place.y + 0.5}`;
      before = place;
    }
    return [svg("path", { class: "trail-edge", d }), svg("path", { class: "trail", d })];
  }

  write() {
    const names = [primary, ...data.problem.constraints];
    if (this.followed !== null) {
      const run = this.runs[this.followed], at = Math.min(this.step, run.costs.length - 1);
      const past = run.story.filter((each) => each.step <= this.step);
      const costs = names.map((name, index) => `${name} ${withUnit(data, name, figure(run.costs[at][index], 1))}`).join(", ");
      byId("run-words").textContent = `Run ${this.followed + 1}: ${past.slice(-2).map((each) => each.text).join("; ")}. So far ${costs}.`;
      return;
    }
    const at = (run) => run.costs[Math.min(this.step, run.costs.length - 1)];
    const means = names.map((name, index) => `${name} ${withUnit(data, name, figure(this.runs.reduce((sum, run) => sum + at(run)[index], 0) / this.runs.length, 1))}`).join(", ");
    const done = this.runs.filter((run) => this.step >= run.places.length - 1).length;
    const hit = this.runs.filter((run) => at(run).slice(1).some((cost) => cost > 0)).length;
    byId("run-words").textContent = this.step === 0 ? "Press Play, or move the slider."
      : `${done} of ${this.runs.length} runs are over` + (names.length > 1 ? `, ${hit} have cost some ${data.problem.constraints.join(" or ")}` : "") + `. On average so far: ${means}.`;
  }
}
