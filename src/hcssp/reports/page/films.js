// Films of a search: a chart, and controls that go through its steps. Each function takes its host and its data and
// answers with what draws the present step again.

// Buttons, a slider and a sentence below a chart; `show` draws a step and answers with the sentence.
function filmOf(host, label, show) {
  const chart = html("div", { class: "chart film" }), words = html("p", { class: "story", "aria-live": "polite" });
  const button = (text, attributes, onclick) => html("button", { type: "button", ...attributes, onclick }, text);
  const output = html("output", {}), clock = html("input", { type: "range", min: 0, step: 1, "aria-label": `Step of ${label}` });
  const play = button("Play", { "aria-pressed": "false" }, () => (film.timer ? film.pause() : film.play()));
  const film = {
    chart, step: 0, last: 0, timer: null,
    go(step) {
      film.step = Math.max(0, Math.min(film.last, step));
      clock.value = film.step;
      output.textContent = `${film.step} of ${film.last}`;
      words.textContent = show(film.step);
    },
    // The end is what is seen at first, and on paper.
    begin(last) {
      film.pause();
      film.last = clock.max = last;
      film.go(last);
    },
    play() {
      if (film.step >= film.last) film.go(0);
      play.textContent = "Pause";
      play.setAttribute("aria-pressed", "true");
      // A long film is shown in about half a minute.
      const stride = Math.max(1, Math.round(film.last / 120));
      film.timer = setInterval(() => { film.go(film.step + stride); if (film.step >= film.last) film.pause(); }, film.last > 40 ? 250 : 800);
    },
    pause() {
      clearInterval(film.timer);
      film.timer = null;
      play.textContent = "Play";
      play.setAttribute("aria-pressed", "false");
    },
  };
  const move = (step) => { film.pause(); film.go(step()); };
  clock.addEventListener("input", () => move(() => Number(clock.value)));
  host.append(html("figure", {}, chart), html("div", { class: "transport controls" },
    html("div", { class: "buttons", role: "group", "aria-label": label }, play, button("−1", { "aria-label": "One step back" }, () => move(() => film.step - 1)),
      button("+1", { "aria-label": "One step on" }, () => move(() => film.step + 1)), button("Start", {}, () => move(() => 0)), button("End", {}, () => move(() => film.last))),
    html("span", { class: "clock" }, "Step ", output), clock, words));
  return film;
}

const chooser = (label, names, chosen, change) => {
  const select = html("select", { "aria-label": label, onchange: () => change(Number(select.value)) }, names.map((name, index) => html("option", { value: index }, shortened(name, 60))));
  select.value = chosen;
  return select;
};
const legendOf = (entries) => html("ul", { class: "film-legend" }, entries.map(([kind, text]) => html("li", {}, svg("svg", { width: 28, height: 12, "aria-hidden": "true" }, kind.startsWith("box")
  ? svg("rect", { class: kind, x: 1, y: 1, width: 26, height: 10 }) : kind === "star" ? starAt(14, 6, 6) : svg("line", { class: kind, x1: 1, x2: 27, y1: 6, y2: 6 })), text)));
const starAt = (x, y, size) => fill(star(x, y, size), { class: "star" }, []);

// The anytime algorithm: `pictures` have lines of policies over the multiplier of a bound, and steps that meet them.
function gapFilm(host, pictures) {
  let picture = pictures[0];
  // A budget of an activity is a computed figure.
  const budget = ({ bound }) => given(Number(bound.toPrecision(5)));
  const keeping = ([, use, feasible]) => `${feasible || use <= picture.bound ? "keeps" : "breaks"} the bound of ${budget(picture)}${!feasible && use <= picture.bound ? " and breaks another" : ""}`;
  const at = ([cost, use], price) => cost + price * (use - picture.bound);
  const draw = (count) => {
    const { lines, steps } = picture, now = steps[count], end = steps[steps.length - 1], best = end[2];
    const last = best > 0 ? 2 * best : 1, seen = steps.slice(0, count + 1), met = [...new Set(seen.map(([line]) => line))];
    const ranked = seen.filter(([, rank]) => rank !== null);
    // What happens at the end fills the picture, whatever is shown of it.
    const heights = [picture.dual, end[3], end[4] ?? picture.dual, ...steps.filter(([, rank]) => rank !== null).map(([line]) => at(lines[line], best))];
    const low = Math.min(...heights), room = Math.max(Math.max(...heights) - low, 1e-9 * (1 + Math.abs(low)));
    const { picture: chart, px, py, box } = frame(film.chart, { height: 380, x: [0, last], y: [low - 0.9 * room, low + 1.6 * room], xTitle: `price λ of ${picture.constraint}`,
      yTitle: `expected ${picture.cost} + λ (expected ${picture.constraint} − ${budget(picture)})`, yText: (tick) => figure(tick, room < 0.1 ? 4 : 2) });
    chart.setAttribute("aria-label", "Policies as lines over the price of the bound; the text below describes this step.");
    // Lines leave the picture above and below.
    const ends = (line) => {
      const [left, right] = [at(line, 0), at(line, last)], [bottom, top] = [low - 0.9 * room, low + 1.6 * room];
      const cut = (value) => (Math.abs(right - left) < 1e-300 ? null : Math.max(0, Math.min(1, (value - left) / (right - left))));
      const [one, other] = [cut(bottom), cut(top)];
      if (one === null) return left < bottom || left > top ? null : [0, 1];
      const [from, to] = [Math.min(one, other), Math.max(one, other)];
      return to > from ? [from, to] : null;
    };
    for (const index of met) {
      const line = lines[index], span = ends(line);
      if (!span) continue;
      const [x1, x2] = span.map((share) => share * last), current = index === now[0] ? " current" : "", stage = seen.some(([each, rank]) => each === index && rank !== null) ? "" : " first";
      chart.append(svg("line", { class: `policy ${line[2] ? "kept" : "broken"}${current}${stage}`, x1: px(x1), y1: py(at(line, x1)), x2: px(x2), y2: py(at(line, x2)) },
        svg("title", {}, `costs ${figure(line[0])}, uses ${figure(line[1])}: ${keeping(line)}`)));
    }
    const bottom = py(low - 0.9 * room), envelope = [];
    for (let share = 0; share <= 300; share++) {
      const price = (share / 300) * last, y = py(Math.min(...met.map((index) => at(lines[index], price))));
      if (y <= bottom) envelope.push([px(price), y]);
    }
    chart.append(svg("path", { class: "dual", d: polyline(envelope) }));
    chart.append(svg("line", { class: "multiplier", x1: px(now[2]), x2: px(now[2]), y1: box.top, y2: box.bottom }), svg("text", { x: px(now[2]) + 5, y: box.bottom - 6 }, ranked.length ? "λ*" : "λ"));
    const across = (value, name) => {
      if (value !== null && py(value) <= box.bottom && py(value) >= box.top) chart.append(svg("line", { class: name, x1: box.left, x2: box.right, y1: py(value), y2: py(value) }));
    };
    across(now[3], "floor-line");
    across(now[4], "incumbent-line");
    // Policies whose values are too close to distinguish share a label.
    const groups = [];
    for (const [line, rank] of ranked) {
      const y = py(at(lines[line], best)), group = groups[groups.length - 1];
      if (group && Math.abs(y - group.y) < 15) group.ranks.push(rank);
      else groups.push({ y, ranks: [rank] });
      chart.append(svg("circle", { class: "met", cx: px(best), cy: y, r: 2.5 }));
    }
    for (const { y, ranks } of groups) chart.append(svg("text", { class: "plated", x: px(best) + 8, y: y - 5 }, ranks.length > 1 ? `π${ranks[0]} to π${ranks[ranks.length - 1]}` : `π${ranks[0]}`));
    const bounds = `Lower bound ${roundedDown(now[3])}, ${now[4] === null ? "no incumbent yet" : `incumbent ${roundedUp(now[4])}`}.`;
    return `${now[1] === null ? `Stage 1, at λ = ${figure(now[2], 3)}` : `Stage 2, π${now[1]}`}: a policy that costs ${figure(lines[now[0]][0])} and uses ${figure(lines[now[0]][1])}, which ${keeping(lines[now[0]])}. ${bounds}`;
  };
  const choose = (index) => { picture = pictures[index]; film.begin(picture.steps.length - 1); };
  if (pictures.length > 1) host.append(html("p", { class: "controls pick" }, "Show ", chooser("Subject of the picture", pictures.map((each, index) => (index ? `${each.name}, at most ${budget(each)}` : "the whole")), 0, choose)));
  const film = filmOf(host, "closing the gap", draw);
  host.append(legendOf([["dual", "the least of all: the dual"], ["policy kept", "keeps the bounds"], ["policy broken", "breaks a bound"], ["floor-line", "lower bound"], ["incumbent-line", "incumbent"]]));
  choose(0);
  return () => film.go(film.step);
}

// The boxes of budget allocation in the plane of two activities. Lengths are shown by their cube root, since a search
// ends with boxes that are thousands of times smaller than the first.
function spaceFilm(host, space) {
  const boxes = [];
  for (const [parent, bound, ...changes] of space.boxes) {
    const whole = parent === null ? space : boxes[parent], sides = [[...whole.lower], [...whole.upper]];
    for (let at = 0; at < changes.length; at += 3) sides[changes[at + 1]][changes[at]] = changes[at + 2];
    boxes.push({ parent, bound, lower: sides[0], upper: sides[1] });
  }
  const splitAt = boxes.map(() => Infinity);
  boxes.forEach(({ parent }, number) => { if (parent !== null) splitAt[parent] = Math.min(splitAt[parent], number); });
  const finite = boxes.map(({ bound }) => bound).filter((bound) => bound !== null), least = Math.min(...finite);
  const cap = space.incumbents.length ? space.incumbents[space.incumbents.length - 1][2] : Math.max(...finite);
  let [across, up] = space.shown;
  const sizeOf = (axis) => Math.max(...[...boxes.map(({ upper }) => upper[axis]), ...space.incumbents.map((each) => each[3][axis])].filter((each) => each !== null), 1e-9);
  const root = Math.cbrt;
  const draw = (step) => {
    const count = step + 1, found = space.incumbents.filter(([known]) => known <= count), best = found[found.length - 1] ?? null, cutoff = best ? best[2] : Infinity;
    const [wide, high] = [sizeOf(across), sizeOf(up)];
    const marks = (most) => [0, ...[1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1e3, 1e4].filter((each) => each <= most && each > most / 3e4)];
    const place = (axis) => (tick) => given(Number((tick ** 3).toPrecision(6)));
    const { picture: chart, px, py } = frame(film.chart, { height: 420, x: [0, root(wide)], y: [0, root(high)], xTicks: marks(wide).map(root), yTicks: marks(high).map(root), xText: place(across), yText: place(up),
      xTitle: `${space.axes[across][1]} of an execution of ${space.axes[across][0]}`, yTitle: `${space.axes[up][1]} of an execution of ${space.axes[up][0]}` });
    chart.setAttribute("aria-label", "Boxes of budgets of two activities; the text below has the number of open boxes.");
    const known = boxes.slice(0, count).map((each, number) => ({ ...each, number, state: splitAt[number] < count ? "split" : (each.bound ?? Infinity) >= cutoff ? "pruned" : "open" }));
    const state = (name) => known.filter((each) => each.state === name).sort((one, other) => (other.bound ?? Infinity) - (one.bound ?? Infinity));
    const drawBox = ({ number, bound, lower, upper }, name, shade = "") => {
      const [left, right] = [px(root(lower[across])), px(root(upper[across] ?? wide))], [top, bottom] = [py(root(upper[up] ?? high)), py(root(lower[up]))];
      chart.append(svg("rect", { class: `box ${name}${shade}`, x: left, y: top, width: Math.max(1, right - left), height: Math.max(1, bottom - top) },
        svg("title", {}, `box ${number + 1}, ${name}: ${bound === null ? "holds nothing that keeps the bound" : `lower bound ${roundedDown(bound)}`}`)));
    };
    const open = state("open"), pruned = state("pruned");
    pruned.forEach((each) => drawBox(each, "pruned"));
    const shade = ({ bound }) => ` shade-${Math.max(0, Math.min(4, 4 - Math.floor((5 * (bound - least)) / (cap - least || 1))))}`;
    open.forEach((each) => drawBox(each, "open", shade(each)));
    drawBox(known[known.length - 1], "newest");
    if (best) chart.append(starAt(px(root(best[3][across])), py(root(best[3][up])), 9));
    const floor = Math.min(...open.map(({ bound }) => bound), cutoff);
    return `${count} of ${space.count} boxes: ${known.filter((each) => each.state === "split").length} split, ${pruned.length} pruned, ${open.length} open. `
      + `${Number.isFinite(floor) ? `The least bound of the open boxes is ${roundedDown(floor)}` : "Nothing is proven yet"}, ${best ? `the incumbent costs ${roundedUp(best[1])}` : "there is not an incumbent"}.`;
  };
  const names = space.axes.map(([activity, cost]) => `${activity}: ${cost}`);
  const choose = (change) => (index) => { change(index); film.go(film.step); };
  host.append(html("p", { class: "controls pick" }, "Across ", chooser("Activity across", names, across, choose((index) => { across = index; })), " and up ", chooser("Activity up", names, up, choose((index) => { up = index; }))));
  const film = filmOf(host, "sharing the budget", draw);
  host.append(legendOf([["box open shade-4", "open, with the least bound"], ["box open shade-0", "open, with a bound near the incumbent"], ["box pruned", "pruned"], ["box newest", "the newest box"], ["star", "what the incumbent uses"]]));
  film.begin(boxes.length - 1);
  return () => film.go(film.step);
}
