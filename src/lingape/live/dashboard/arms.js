// The arms: each against the leader, and where the pulls went.

import { bar, gapScale, intervalPicture, tableAxis } from "./charts.js";
import { confidence, count, el, many, number, ruledOut, say } from "./dom.js";
import { cell, column, columns, nameCell, section } from "./panels.js";

const SHOWN = 30; // arms in a table
const MEANING =
  "If this arm were the best, the evidence against it would ever become as strong as it is " +
  "with at most this probability.";

/** Return the estimate of an arm's gap, and its interval if it has one. */
function estimate({ gap, low, high }, exact) {
  return low === null ? exact(gap) : `${exact(gap)} (${exact(low)}, ${exact(high)})`;
}

/** Return an arm's p-value; one of at most δ rules it out. */
function evidence({ arm, p_value }, { delta, answer }) {
  return p_value !== null && p_value <= delta && arm !== answer ? "ruled out" : number(p_value);
}

/** Return what has to happen for the question to be answered. */
function toStop({ epsilon, ruled_out }) {
  if (ruled_out !== null) {
    const close = epsilon > 0 ? `, or proven to be at most ${number(epsilon)} better` : "";
    return `To stop, all arms but one have to be ruled out${close}.`;
  }
  const end = epsilon > 0 ? "ε, the dashed line" : "0, the leader's line";
  return `To stop, none may reach beyond ${end}.`;
}

/** Each arm's interval against the leader. */
export function gapsPart() {
  const head = column({ class: "picture" });
  const evidenceHead = column({ class: "evidence", title: MEANING }, "p-value of being best");
  const body = el("tbody", { role: "rowgroup" });
  const note = el("p", { class: "note" });
  const table = el(
    "table",
    { class: "gaps", role: "table" },
    el("caption", {}, "Reward compared with the leader's: at least, estimated, at most"),
    columns("Arm", "Estimate (from, to)", evidenceHead, head),
    body,
  );
  return {
    node: section("gaps", "Arms against the leader", table, note),
    update(status) {
      const known = status.standings.filter((arm) => arm.gap !== null);
      const raced = status.ruled_out !== null;
      evidenceHead.hidden = !raced;
      table.hidden = !known.length;
      if (!known.length) {
        say(note, "No intervals yet: there are too few rewards to compare arms.");
        return;
      }
      const leads = (arm) => arm.arm === status.leader;
      const shown = [...known.filter(leads), ...known.filter((arm) => !leads(arm))].slice(0, SHOWN);
      const scale = gapScale(shown, status.epsilon);
      const { exact } = scale;
      head.replaceChildren(el("span", { class: "hidden" }, "Picture"), tableAxis(scale));
      body.replaceChildren(
        ...shown.map((arm) =>
          el(
            "tr",
            { role: "row" },
            nameCell(arm, status),
            cell(
              "numbers",
              leads(arm) ? "–" : estimate(arm, exact),
            ),
            raced ? cell("numbers evidence", evidence(arm, status)) : null,
            cell("picture", intervalPicture(arm, status.epsilon, scale)),
          ),
        ),
      );
      const rest = status.arms - shown.length;
      const most = raced ? null : status.standings.find((arm) => !shown.includes(arm))?.high;
      const limit = Number.isFinite(most)
        ? most > 0
          ? `; none of them is better than the leader by more than ${number(most)}`
          : `; all of them are worse than the leader by at least ${number(-most)}`
        : "";
      const others =
        `Shown are the ${count(shown.length)} arms that may be best. ` +
        `${count(rest)} more are not shown${limit}. `;
      const share = confidence(status.delta);
      const sure = known.some((arm) => arm.high !== null)
        ? `All upper ends hold at once with probability at least ${share}. `
        : "";
      const out = raced
        ? `${ruledOut(status)} as best, with probability at least ${share}: p-values of at most ` +
          `${number(status.delta)}. `
        : "";
      say(
        note,
        (rest > 0 ? others : "") +
          (status.certificate.proven ? sure + out : "They are not proven to hold. ") +
          toStop(status),
      );
    },
  };
}

/** Rewards and tickets of each arm. */
export function pullsPart() {
  const picture = column({}, el("span", { class: "hidden" }, "Picture"));
  const body = el("tbody", { role: "rowgroup" });
  const note = el("p", { class: "note" });
  const table = el(
    "table",
    { class: "pulls", role: "table" },
    el(
      "caption",
      {},
      "Rewards so far, and tickets: pending ones, those past their deadline, and voided ones",
    ),
    columns("Arm", "Pulls", "Pending", "Overdue", "Voided", picture),
    body,
  );
  const size = (arm) => arm.pulls + arm.pending + arm.overdue;
  return {
    node: section("pulls", "Pulls", table, note),
    update(status) {
      const order = [...status.standings].sort(
        (one, other) => size(other) - size(one) || one.arm - other.arm,
      );
      const shown = order.slice(0, SHOWN);
      const most = Math.max(...shown.map(size), 1);
      body.replaceChildren(
        ...shown.map((arm) =>
          el(
            "tr",
            { role: "row" },
            nameCell(arm, status),
            cell("numbers pulled", count(arm.pulls)),
            cell("numbers pending", count(arm.pending)),
            cell("numbers overdue", count(arm.overdue)),
            cell("numbers voided", count(arm.voided)),
            cell("picture", bar(arm, most)),
          ),
        ),
      );
      const rest = status.arms - shown.length;
      const left = (what) => status[what] - shown.reduce((sum, arm) => sum + arm[what], 0);
      say(
        note,
        rest > 0
          ? `${many(rest, "more arm")}, with ${many(left("pulls"), "pull")}, ` +
              `${many(left("pending"), "pending ticket")}, ${count(left("overdue"))} overdue ` +
              `and ${count(left("voided"))} voided, ` +
              `${rest === 1 ? "is" : "are"} not shown.`
          : "",
      );
    },
  };
}
