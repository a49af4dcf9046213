// The model check: do rewards look as the certificate assumes?

import { fitPicture, fitScale, tableAxis } from "./charts.js";
import { count, el, number, say, shortened } from "./dom.js";
import { cell, columns, section } from "./panels.js";

const SHOWN = 8; // arms in the table
const CALM = "This does not prove them: data can only contradict assumptions.";
const RARE = 1e-3; // for tickets, see losses.py
const ADVICE = "Do not rely on the certificate before this is explained.";
const ON_REWARDS =
  "If a few arms stand out below, look at how they were measured. If many do, the model misses " +
  "something. Rewards that were measured well need not be measured again: lingape live refit " +
  "begins a successor with another model or another noise, and all rewards.";
const ON_TICKETS =
  "Look in the log at why tickets were voided. If it was because of the arm, each of them should " +
  "have been told the worst reward there is: begin again, and add the rewards of this log with " +
  "the worst reward for each such ticket.";

function byChance(p) {
  if (p < 1e-4) return "in fewer than 1 of 10,000 cases";
  return p > 0.995 ? "in nearly all cases" : `in ${number(100 * p)}\u00a0% of cases`;
}

/** Return what to do about the warnings. */
function advice({ warnings, voided_p, overdue_p }) {
  const lost = [voided_p, overdue_p].filter((p) => p !== null && p < RARE).length;
  const parts = [ADVICE, lost < warnings.length ? ON_REWARDS : null, lost > 0 ? ON_TICKETS : null];
  return parts.filter((part) => part !== null).join(" ");
}

function apart(p, none) {
  return p === null ? none : `such a difference between arms comes by chance ${byChance(p)}`;
}

/** Return how the noise that was seen compares with what was stated, if anything was. */
function seen({ noise, noise_p, noise_scale }) {
  const told = noise_scale === null ? "none stated" : `${number(noise_scale)} stated`;
  if (noise === null) return `nothing to compare: no arm was pulled twice (${told})`;
  if (noise_scale === null) return `${number(noise)} seen, which is the estimate: ${told}`;
  return `${number(noise)} seen, ${told}; this much comes by chance ${byChance(noise_p)}`;
}

function findings(check) {
  const { linear_p, voided_p, overdue_p } = check;
  const rows = {
    "Linear in the features": linear_p === null
      ? "nothing to compare: with no more arms pulled than features, any averages fit"
      : `averages so far off the model come by chance ${byChance(linear_p)}`,
    "Noise of an arm’s rewards": seen(check),
    "Voided tickets": apart(voided_p, "there are none"),
    "Tickets open for too long": apart(overdue_p, "there are none"),
  };
  return Object.entries(rows).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
}

function row(fit, scale) {
  return el(
    "tr",
    { role: "row" },
    el("th", { scope: "row", role: "rowheader" }, shortened(fit.name)),
    cell("numbers pulled", count(fit.pulls)),
    cell("numbers average", number(fit.average)),
    cell("numbers fitted", number(fit.fitted)),
    cell("numbers off", `${fit.z > 0 ? "+" : ""}${fit.z.toFixed(1).replace("-", "−")}`),
    cell("picture", fitPicture(fit, scale)),
  );
}

/** Whether rewards look as supposed, and how far off each arm is. */
export function checkPart() {
  const verdict = el("div", {});
  const list = el("dl", { class: "findings" });
  const body = el("tbody", { role: "rowgroup" });
  const head = columns("Arm", "Pulls", "Average", "Fitted", "Off by", "Picture");
  const axis = head.querySelector("th:last-child");
  axis.classList.add("picture");
  const table = el(
    "table",
    { class: "fits", role: "table" },
    el(
      "caption",
      {},
      "Average reward and what the linear model says, worst fit first. Off by: the difference in " +
        "standard deviations; beyond 4 is rare by chance.",
    ),
    head,
    body,
  );
  const note = el("p", { class: "note" });
  const node = section("check", "Model check", verdict, list, table, note);
  let before = null;
  return {
    node,
    update({ check, pulls }) {
      const doubtful = check.warnings.length > 0;
      node.classList.toggle("bad", doubtful);
      const now = JSON.stringify([check.warnings, check.statement, pulls > 0]);
      if (now !== before) {
        before = now; // so that selections rest
        verdict.replaceChildren(
          ...(doubtful
            ? [
                el("ul", { class: "warnings" }, ...check.warnings.map((one) => el("li", {}, one))),
                el("h3", {}, "What to do"),
                el("p", { class: "advice" }, advice(check)),
              ]
            : [el("p", {}, `${check.statement} `, pulls > 0 ? CALM : null)]),
        );
      }
      list.hidden = pulls === 0 && !doubtful;
      list.replaceChildren(...findings(check));
      table.hidden = check.linear_p === null;
      if (table.hidden) {
        say(note, "");
        return;
      }
      const shown = check.arms.slice(0, SHOWN);
      const scale = fitScale(shown);
      axis.replaceChildren(el("span", { class: "hidden" }, "Picture"), tableAxis(scale));
      body.replaceChildren(...shown.map((fit) => row(fit, scale)));
      const rest = check.arms.length - shown.length;
      say(note, rest > 0 ? "Arms that fit better are not shown." : "");
    },
  };
}
