// What was learnt: what each arm pays, how it compares with the control, and what factors do.

import { at } from "./api.js";
import { confidence, count, el, many, number, say, shortened } from "./dom.js";
import { cell, column, columns, nameCell, section } from "./panels.js";

const SHOWN = 30; // arms in a table

/** Return an estimate and its interval. */
function interval(value, low, high) {
  if (value === null) return "–";
  return low === null || high === null
    ? number(value)
    : `${number(value)} (${number(low)}, ${number(high)})`;
}

/** Return how an arm compares with the control, in words. */
function verdict({ lift, lift_low, lift_high }, minimize) {
  if (lift === null) return "–";
  if (lift_low === null) return "not told apart yet";
  const [low, high] = minimize ? [-lift_high, -lift_low] : [lift_low, lift_high];
  if (low === high) return "the same";
  if (low > 0) return `better by at least ${number(low)}`;
  return high < 0 ? `worse by at least ${number(-high)}` : "not told apart yet";
}

/** What each arm pays. */
export function valuesPart() {
  const lift = column({}, "Against the control (from, to)");
  const words = column({}, "Verdict");
  const body = el("tbody", { role: "rowgroup" });
  const note = el("p", { class: "note" });
  const table = el(
    "table",
    { class: "values", role: "table" },
    el("caption", {}, "Average reward: estimated, at least, at most"),
    columns("Arm", "Average (from, to)", lift, words),
    body,
  );
  return {
    node: section("values", "What arms pay", table, note),
    update(status) {
      const known = status.standings.filter((arm) => arm.value !== null);
      const shown = known.slice(0, SHOWN);
      const controlled = shown.some((arm) => arm.lift !== null);
      lift.hidden = words.hidden = !controlled;
      table.hidden = !known.length;
      body.replaceChildren(
        ...shown.map((arm) =>
          el(
            "tr",
            { role: "row" },
            nameCell(arm, status),
            cell("numbers", interval(arm.value, arm.value_low, arm.value_high)),
            controlled ? cell("numbers", interval(arm.lift, arm.lift_low, arm.lift_high)) : null,
            controlled ? cell("words", verdict(arm, status.minimize)) : null,
          ),
        ),
      );
      const rest = known.length - shown.length;
      say(
        note,
        known.length
          ? (rest > 0 ? `${many(rest, "more arm")} not shown. ` : "") +
              `All intervals hold together, at all times, with probability at least ` +
              `${confidence(status.delta)}.`
          : "No averages yet: there are too few rewards.",
      );
    },
  };
}

/** What each level of each factor adds; hidden where arms are not made of factors. */
export function effectsPart(page, name) {
  const body = el("tbody", { role: "rowgroup" });
  const note = el("p", { class: "note" });
  const node = section(
    "effects",
    "What factors do",
    el(
      "table",
      { class: "effects", role: "table" },
      el("caption", {}, "How much a level adds, compared with the first level of its factor"),
      columns("Factor", "Level", "Effect (from, to)", ""),
      body,
    ),
    note,
  );
  node.hidden = true;
  const row = (factor, level, effect, best) =>
    el(
      "tr",
      { role: "row" },
      el("th", { scope: "row", role: "rowheader" }, shortened(factor)),
      cell("words", shortened(level)),
      cell("numbers", effect),
      cell("words", best ?? ""),
    );
  return {
    node,
    async update(status) {
      node.hidden = !status.factors.length;
      if (node.hidden) return;
      const found = await page.get(at(name, "/effects"));
      body.replaceChildren(
        ...found.factors.flatMap(({ factor, reference, levels, best, proven }) => {
          const mark = (level) => (level === best ? (proven ? "best" : "looks best") : null);
          return [
            row(factor, reference, "reference", mark(reference)),
            ...levels.map(({ level, value, low, high }) =>
              row("", level, interval(value, low, high), mark(level)),
            ),
          ];
        }),
      );
      say(
        note,
        `Averages over the arms, after ${many(found.pulls, "reward")}. All intervals hold ` +
          `together, at all times, with probability at least ${confidence(found.delta)}.`,
      );
    },
  };
}

/** Return how many pulls and how long it will take, roughly. */
export function timeLeft({ remaining, per_hour }) {
  if (remaining === null) return "–";
  if (remaining.median === null) return "no end in sight";
  const pulls = `about ${count(Number(remaining.median.toPrecision(2)))} pulls`;
  return per_hour ? `${pulls}, ${hours(remaining.median / per_hour)}` : pulls;
}

function hours(value) {
  for (const [least, size, unit] of [[72, 24, "days"], [2, 1, "hours"], [1 / 30, 1 / 60, "minutes"]]) {
    if (value >= least) return `${number(Number((value / size).toPrecision(2)))} ${unit}`;
  }
  return `${number(Number((3600 * value).toPrecision(2)))} seconds`;
}
