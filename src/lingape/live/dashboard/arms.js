// The arms: each against the leader, and where the pulls went.

import { bar, gapScale, intervalPicture, tableAxis } from "./charts.js";
import { confidence, count, el, many, number, say } from "./dom.js";
import { cell, column, columns, nameCell, section } from "./panels.js";

const SHOWN = 30; // arms in a table

/** Each arm's interval against the leader. */
export function gapsPart() {
  const head = column({ class: "picture" });
  const body = el("tbody", { role: "rowgroup" });
  const note = el("p", { class: "note" });
  const table = el(
    "table",
    { class: "gaps", role: "table" },
    el("caption", {}, "Reward compared with the leader's: at least, estimated, at most"),
    columns("Arm", "Estimate (from, to)", head),
    body,
  );
  return {
    node: section("gaps", "Arms against the leader", table, note),
    update(status) {
      const known = status.standings.filter((arm) => arm.high !== null);
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
              leads(arm) ? "–" : `${exact(arm.gap)} (${exact(arm.low)}, ${exact(arm.high)})`,
            ),
            cell("picture", intervalPicture(arm, status.epsilon, scale)),
          ),
        ),
      );
      const rest = status.arms - shown.length;
      const most = status.standings.find((arm) => !shown.includes(arm))?.high;
      const limit = Number.isFinite(most)
        ? most > 0
          ? `; none of them is better than the leader by more than ${number(most)}`
          : `; all of them are worse than the leader by at least ${number(-most)}`
        : "";
      const others =
        `Shown are the ${count(shown.length)} arms that may be best. ` +
        `${count(rest)} more are not shown${limit}. `;
      const share = confidence(status.delta);
      const sure = `All upper ends hold at once with probability at least ${share}. `;
      const end = status.epsilon > 0 ? "ε, the dashed line" : "0, the leader's line";
      say(
        note,
        (rest > 0 ? others : "") +
          (status.certificate.proven ? sure : "They are not proven to hold. ") +
          `To stop, none may reach beyond ${end}.`,
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
