// What is shown, and what the controls change: the plan along the curve, and the activity on the map.

const sheet = new Sheet(byId("sheet"));
const player = new Player(sheet);

function choosePlan(index) {
  state.plan = index;
  const shown = data.plans[index];
  if (state.activity !== null && !shown.activities[state.activity].executions) state.activity = null;
  drawBrief(index);
  drawBar();
  drawChoiceOfActivities();
  drawCrumbs();
  sheet.show(shown, state.activity);
  player.show(shown);
  drawHinges();
  drawFacts(shown, state.activity);
  if (data.curve) drawCurve(index, choosePlan);
  drawProcedure(shown, state.activity, chooseActivity);
  drawBudgets(shown);
  drawActivities(shown, chooseActivity);
  drawOutlook(shown);
}

function chooseActivity(index) {
  state.activity = index;
  byId("activity").value = index === null ? "" : index;
  sheet.show(data.plans[state.plan], index);
  player.draw();
  drawFacts(data.plans[state.plan], index);
  drawProcedure(data.plans[state.plan], index, chooseActivity);
  if (index !== null) byId("where").scrollIntoView({ block: "start" });
}

// The figures that the plan is most sensitive to: a list, and rings on the map.
function drawHinges() {
  const known = data.plans[state.plan].influences, names = Object.keys(known).filter((name) => known[name].length);
  byId("hinges").hidden = names.length === 0;
  const select = byId("hinge"), chosen = names.includes(select.value) ? select.value : "";
  select.replaceChildren(html("option", { value: "" }, "nothing: hide them"), ...names.map((name) => html("option", { value: name }, shortened(called(name), 60))));
  select.value = chosen;
  const shown = chosen ? known[chosen] : [];
  byId("hinge-help").textContent = chosen ? `By how much the ${expectedOf(chosen)} would change if the figure were one percent of itself larger.` : "";
  byId("hinge-list").replaceChildren(...shown.map((hinge) => html("li", {}, hinge.words)));
  sheet.hinges = shown;
  sheet.draw();
}

function drawBar() {
  if (!data.curve || data.plans.length < 2) return;
  const plan = data.plans[state.plan], bound = plan.bounds[data.varied], slider = byId("bound");
  byId("bar").hidden = false;
  byId("bound-label").textContent = `${capital(data.varied)} allowed:`;
  byId("bound-value").textContent = amount(data.varied, bound);
  slider.max = data.plans.length - 1;
  slider.value = state.plan;
  slider.setAttribute("aria-valuetext", `${called(data.varied)} at most ${amount(data.varied, bound)}: expected ${called(primary)} ${figure(plan.own)}`);
  byId("bar-figure").textContent = `expected ${called(primary)} ${figure(plan.own)}`;
  byId("back").disabled = state.plan === data.reported;
}

function drawChoiceOfActivities() {
  const plan = data.plans[state.plan];
  byId("activity").replaceChildren(html("option", { value: "" }, state.level !== null ? `all of ${data.uses[state.level].name}` : data.sheet.map ? "the whole building" : "all activities"),
    ...data.problem.activities.map((activity, index) => ({ activity, index })).filter(({ index }) => isShownActivity(index) && plan.activities[index].executions > 0)
      .map(({ activity, index }) => html("option", { value: index }, `${activity.name} (${times(plan.activities[index].executions)})`)));
  byId("activity").value = state.activity === null ? "" : state.activity;
}

function describe() {
  const grids = data.sheet.panels.some((panel) => panel.grid);
  byId("where-text").textContent = grids
    ? `${data.sheet.map ? "The rooms as they stand." : "Every activity by itself: the problem does not say where its rooms stand."} `
      + "An arrow is where the plan heads from a cell; cells with stronger shading and larger arrows are visited more often. Hatched cells are hazards."
    : "The activities of this problem have no map; their busiest states are listed below.";
  byId("sheet-caption").textContent = grids ? "Expected visits count all executions of the plan's activities in one run of the procedure." : "";
  byId("where").classList.toggle("without-map", !grids);
  const stage = document.querySelector(".stage");
  stage.hidden = !grids && data.plans[data.reported].runs.length === 0;
  // Without rooms there is nothing to draw; runs are told in words.
  stage.classList.toggle("bare", !grids);
  byId("sheet-figure").hidden = !grids;
  document.querySelectorAll(".map-only").forEach((element) => { element.hidden = !grids; });
  const several = data.plans.length > 1;
  byId("trade-off").hidden = !data.curve || (!several && data.views.length < 2);
  for (const id of ["trade-off-help", "trade-off-figure", "trade-off-table"]) byId(id).hidden = !several;
  byId("bar").hidden = !data.curve || !several;
  if (data.curve) {
    byId("trade-off-title").textContent = isChance(data.varied) ? `What if a greater or smaller ${called(data.varied)} were allowed?` : `What if more or less ${called(data.varied)} were allowed?`;
    byId("trade-off-text").textContent = several ? `${isChance(data.varied) ? "The smaller a" : "The less"} ${called(data.varied)} is allowed, the ${greatest ? "less" : "more"} ${called(primary)} ${greatest ? "can" : "must"} be expected.`
      : `For other bounds on ${called(data.varied)} there is no other plan on this page.`;
    byId("bounds").replaceChildren(...data.plans.map((_, index) => html("option", { value: index })));
  }
}

// One view for each bound that is varied; the first is that of the scarcest.
const views = data.views.map((view, index) => (index ? view : { varied: data.varied, curve: data.curve, plans: data.plans, reported: data.reported }));
byId("views").hidden = views.length < 2;
byId("view").replaceChildren(...views.map((view, index) => html("option", { value: index }, shortened(view.varied ?? "", 60))));
byId("view").addEventListener("change", () => {
  Object.assign(data, views[Number(byId("view").value)]);
  describe();
  choosePlan(data.reported);
});
byId("bound").addEventListener("input", () => choosePlan(Number(byId("bound").value)));
byId("back").addEventListener("click", () => choosePlan(data.reported));
byId("activity").addEventListener("change", () => {
  chooseActivity(byId("activity").value === "" ? null : Number(byId("activity").value));
});
byId("zoom-in").addEventListener("click", () => sheet.zoom(0.75));
byId("zoom-out").addEventListener("click", () => sheet.zoom(1 / 0.75));
byId("zoom-all").addEventListener("click", () => sheet.reset());
byId("hinge").addEventListener("change", drawHinges);
byId("rare").addEventListener("change", () => { sheet.rare = byId("rare").checked; sheet.draw(); });

describe();
drawLegend();
drawHistory();
followAddress();
choosePlan(state.plan);

function drawCharts() {
  const plan = data.plans[state.plan];
  if (data.curve) drawCurve(state.plan, choosePlan);
  drawHistory();
  drawBudgets(plan);
  drawOutlook(plan);
}
let width = innerWidth, waiting = null;
addEventListener("resize", () => {
  if (innerWidth === width) return;
  width = innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(drawCharts, 120);
});
addEventListener("beforeprint", () => {
  printing = true;
  player.pause();
  sheet.reset();
  drawCharts();
});
addEventListener("afterprint", () => {
  printing = false;
  drawCharts();
});
