// The arms: what each pays, against the control and the leader, and the evidence against each.

import { chart } from "./chart.js";
import {
  atLeast,
  button,
  choice,
  confidence,
  count,
  el,
  interval,
  many,
  number,
  say,
  shortened,
} from "./dom.js";
import { intervals } from "./intervals.js";
import { labels, strips } from "./strips.js";
import { named, row, table } from "./table.js";
import { glossary, term } from "./terms.js";
import { barX, pointerY, ruleX, text, tip } from "./vendor/plot.js";

const SHOWN = 20; // arms in a chart
const PAGE = 50; // arms in the table

const VIEWS = {
  value: ["Averages", "average reward", ["value", "value_low", "value_high"]],
  lift: ["Against the control", "more than the control", ["lift", "lift_low", "lift_high"]],
  gap: ["Against the leader", "better than the leader", ["gap", "low", "high"]],
};

/** Return the arms to draw: the answer or leader first, then those that may be best. */
function foremost(status, view) {
  const [value] = VIEWS[view][2];
  const known = status.standings.filter((arm) => arm[value] !== null);
  const first = (arm) => arm.arm === (status.answer ?? status.leader);
  const control = (arm) => arm.arm === status.control;
  const chosen = [...known.filter(first), ...known.filter((arm) => !first(arm))].slice(0, SHOWN);
  const left = known.filter((arm) => control(arm) && !chosen.includes(arm));
  const better = (a, b) =>
    status.minimize && value !== "gap" ? a[value] - b[value] : b[value] - a[value];
  return [...chosen, ...left].sort((a, b) => first(b) - first(a) || better(a, b));
}

function outOf(arm, status) {
  return arm.p_value !== null && arm.p_value <= status.delta && arm.arm !== status.answer;
}

function tone(arm, status) {
  if (arm.retired || outOf(arm, status)) return "faded";
  if (arm.arm === status.answer) return "good-line";
  if (arm.arm === status.leader) return "accent";
  return arm.arm === status.control ? "goal" : "soft";
}

/** Return an arm's p-value; one of at most δ rules it out. */
function evidence(arm, status) {
  return outOf(arm, status) ? "ruled out" : number(arm.p_value);
}

/** Return how an arm compares with the control, in words. */
function verdict({ arm, lift, lift_low, lift_high }, { control, minimize }) {
  if (arm === control) return "the control";
  if (lift === null) return "–";
  if (lift_low === null) return "not told apart yet";
  const [low, high] = minimize ? [-lift_high, -lift_low] : [lift_low, lift_high];
  if (low > 0) return `better by at least ${atLeast(low)}`;
  return high < 0 ? `worse by at least ${atLeast(-high)}` : "not told apart yet";
}

/** Return where the arms stand, in a sentence below the title. */
function sentence(status, view, shown) {
  if (!shown.length) return "No intervals yet: there are too few rewards to compare arms.";
  const rest = status.arms - shown.length;
  const hold = `hold together, at all times, with probability at least ${confidence(status.delta)}.`;
  // Explorers without p-values compare arms by widths whose lower ends nothing is claimed about.
  const ends = view === "gap" && status.ruled_out === null ? "upper ends" : "intervals";
  const proven =
    view === "gap" && !status.certificate.proven
      ? "These intervals are not proven to hold."
      : `Line: what is proven. All ${ends} in this chart ${hold}`;
  const order =
    rest > 0
      ? ` Shown are ${count(shown.length)} arms, those that may be best first; ${count(rest)} more are in the table of all arms.`
      : "";
  const lower = status.minimize && view !== "gap" ? " Lower is better." : "";
  return `Dot: estimate. ${proven}${lower}${order}`;
}

const COLUMNS = {
  Arm: (arm) => arm.name,
  Pulls: (arm) => arm.pulls,
  Average: (arm) => arm.value,
  "at least": (arm) => arm.value_low,
  "at most": (arm) => arm.value_high,
  "Against the control": (arm) => arm.lift,
  "control, at least": (arm) => arm.lift_low,
  "control, at most": (arm) => arm.lift_high,
  "Against the leader": (arm) => arm.gap,
  "leader, at least": (arm) => arm.low,
  "leader, at most": (arm) => arm.high,
  "p-value of being best": (arm) => arm.p_value,
  Voided: (arm) => arm.voided,
  Retired: (arm) => (arm.retired ? "yes" : "no"),
};

/** What each arm pays, as a chart of the foremost and a table of all that can be searched. */
export function armsPart(source, name) {
  let status = null;
  let chosen = null; // the view, once the user chose one
  const file = (what) => `${name}-${what}`;
  const views = choice(
    "Show",
    Object.entries(VIEWS).map(([key, [label]]) => [key, label]),
    (view) => {
      chosen = view;
      draw();
    },
  );
  const picture = chart({
    title: "What arms pay",
    file: file("arms"),
    columns: COLUMNS,
    controls: views,
    draw: (arms, { width, narrow, context: { view, now } }) => {
      const [, axis, fields] = VIEWS[view];
      const rows = arms.map((arm) => ({
        label: arm.arm === now.control ? `Control: ${arm.name}` : arm.name,
        value: arm[fields[0]],
        low: arm[fields[1]],
        high: arm[fields[2]],
        tone: tone(arm, now),
        detail: `${many(arm.pulls, "pull")}${arm.p_value === null ? "" : `, p-value ${evidence(arm, now)}`}`,
      }));
      const goal =
        view === "gap" && now.epsilon > 0 ? [now.epsilon, `ε = ${number(now.epsilon)}`] : null;
      return intervals(rows, { width, narrow, axis, zero: view !== "value", goal });
    },
  });
  const against = chart({
    title: "Evidence that an arm is not the best",
    file: file("evidence"),
    columns: {
      Arm: COLUMNS.Arm,
      "p-value": COLUMNS["p-value of being best"],
      Evidence: (arm) => 1 / arm.p_value,
    },
    draw: drawEvidence,
  });
  const all = allArms(source);
  const explained = el(
    "details",
    {},
    el("summary", {}, "What these words mean"),
    glossary(
      "arm",
      "pull",
      "average",
      "interval",
      "control",
      "lift",
      "leader",
      "p-value",
      "evidence",
      "ruled out",
    ),
  );

  const draw = () => {
    const controlled = status.control !== null;
    const select = views.querySelector("select");
    select.querySelector("[value=lift]").hidden = select.querySelector("[value=lift]").disabled =
      !controlled;
    const view = chosen ?? (controlled ? "lift" : "value");
    select.value = view;
    const shown = foremost(status, view);
    views.hidden = !shown.length;
    picture.update(shown, sentence(status, view, shown), { view, now: status });
    const raced = status.standings.filter((arm) => arm.p_value !== null).slice(0, SHOWN);
    const some = raced.some((arm) => arm.p_value < 1);
    against.node.hidden = status.ruled_out === null;
    against.update(
      some ? raced : [],
      !some
        ? "There is no evidence against any arm yet."
        : `An arm is ruled out when the evidence reaches ${number(1 / status.delta)}, which is 1/δ. ` +
            `${count(status.ruled_out ?? 0)} of ${many(status.contenders, "arm")} ` +
            `${status.ruled_out === 1 ? "is" : "are"} ruled out.`,
      status,
    );
  };
  return {
    id: "arms",
    title: "Arms",
    node: el("div", {}, picture.node, against.node, all.node, explained),
    async update(now) {
      status = now;
      draw();
      await all.update(now);
    },
  };
}

function drawEvidence(arms, { width, narrow, context: status }) {
  const least = Math.min(1e-6, status.delta / 10); // p-values below end the bars
  const rows = arms.map((arm, i) => ({
    key: String(i),
    label: arm.name,
    value: 1 / Math.max(arm.p_value, least),
    tone: `var(--${tone(arm, status)})`,
    p: evidence(arm, status),
  }));
  const goal = 1 / status.delta;
  return {
    ...strips(rows, {
      width,
      narrow,
      axis: "evidence against being best (1/p)",
      x: {
        type: "log",
        domain: [1, Math.max(3 * goal, ...rows.map((row) => row.value))],
        ticks: narrow ? 3 : 6,
        tickFormat: (value) => count(value),
      },
    }),
    marks: [
      barX(rows, { y: "key", x1: 1, x2: "value", fill: "tone", insetTop: narrow ? 22 : 0 }),
      ruleX([goal], { stroke: "var(--goal)", strokeDasharray: "5 4" }),
      text([goal], {
        x: (d) => d,
        text: () => "ruled out from here",
        frameAnchor: "top",
        dy: -10,
        fill: "var(--goal)",
      }),
      labels(rows, { width, narrow }),
      tip(
        rows,
        pointerY({
          y: "key",
          x: "value",
          title: (row) => `${shortened(row.label, 60)}\np-value of being best: ${row.p}`,
        }),
      ),
    ],
  };
}

/** All arms, a page at a time, with a search; folded where there are many. */
function allArms(source) {
  const search = el("input", { type: "search", id: "arm-search", placeholder: "Name or number" });
  const heads = {
    arm: term("arm", "Arm"),
    pulls: term("pull", "Pulls"),
    average: term("average", "Average"),
    control: term("lift", "Against the control"),
    evidence: term("p-value", "p-value of being best"),
  };
  const { node: shown, body } = table(
    "All arms, those that may be best first",
    [heads.arm, heads.pulls, heads.average, heads.control, "Verdict", heads.evidence, "Voided"],
    { name: "arms", hidden: true },
  );
  const place = el("span", { role: "status" });
  const summary = el("summary", {}, "All arms");
  const ordered = choice(
    "Sort by",
    [
      ["best", "may be best"],
      ["value", "average"],
      ["pulls", "pulls"],
      ["voided", "voided"],
      ["name", "name"],
    ],
    (key) => {
      [sort, start] = [key, 0];
      load();
    },
  );
  let [sort, start, total, status] = ["best", 0, 0, null];
  let decided = false; // whether it is open was decided once
  const turn = (by) => {
    start = Math.max(0, start + by);
    load();
  };
  const before = button("Previous", () => turn(-PAGE));
  const after = button("Next", () => turn(PAGE));
  const pages = el("p", { class: "buttons" }, before, place, after);
  const node = el(
    "details",
    { class: "fold", id: "all-arms" },
    summary,
    el(
      "p",
      { class: "controls live-only" },
      el("label", { for: "arm-search" }, "Search "),
      search,
      " ",
      ordered,
    ),
    shown,
    pages,
  );
  node.addEventListener("toggle", () => load());
  let timer = null;
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      start = 0;
      load();
    }, 150);
  });

  const load = async () => {
    if (!node.open || status === null) return;
    const asked = [search.value, sort, start].join("\n");
    const query = new URLSearchParams({ search: search.value, sort, start, limit: PAGE });
    let found;
    try {
      found = await source("/arms", `?${query}`);
    } catch (trouble) {
      say(place, `Arms could not be loaded: ${trouble.message}`);
      return;
    }
    if (asked !== [search.value, sort, start].join("\n")) return; // another answer is on its way
    total = found.total;
    const controlled = status.control !== null;
    const raced = status.ruled_out !== null;
    shown.classList.toggle("uncontrolled", !controlled);
    shown.classList.toggle("unraced", !raced);
    body.replaceChildren(
      ...found.standings.map((arm) =>
        row(
          ["Arm", named(arm, status)],
          ["Pulls", count(arm.pulls), "numbers"],
          ["Average", interval(arm.value, arm.value_low, arm.value_high), "numbers"],
          [
            "Against the control",
            arm.arm === status.control ? "–" : interval(arm.lift, arm.lift_low, arm.lift_high),
            "numbers controlled",
          ],
          ["Verdict", verdict(arm, status), "words controlled"],
          ["p-value of being best", evidence(arm, status), "numbers raced"],
          ["Voided", count(arm.voided), "numbers"],
        ),
      ),
    );
    const last = Math.min(start + found.standings.length, total);
    say(
      place,
      total === 0
        ? "No arm is called that."
        : `${count(start + 1)} to ${count(last)} of ${count(total)}`,
    );
    before.disabled = start === 0;
    after.disabled = last >= total;
    before.hidden = after.hidden = total <= PAGE;
  };
  return {
    node,
    async update(now) {
      status = now;
      say(summary, `All ${many(now.arms, "arm")}`);
      if (!decided) {
        decided = true;
        node.open = now.arms <= (node.clientWidth < 520 ? 5 : PAGE); // on a phone it is long
      }
      await load();
    },
  };
}
