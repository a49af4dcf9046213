// How far from proven: B(t), by how much a rival may still be better.

import { boundChart } from "./charts.js";
import { armName, count, el, many, number, say, shortened } from "./dom.js";
import { columns, section } from "./panels.js";

/** B(t) falling to ε, as a picture and as a table. */
export function boundPart() {
  const frame = el("div", { class: "frame" });
  const caption = el("figcaption", {});
  const toggle = el("input", { type: "checkbox", id: "logarithmic" });
  const choice = el(
    "p",
    { class: "choice" },
    toggle,
    " ",
    el("label", { for: "logarithmic" }, "Logarithmic scale"),
  );
  const body = el("tbody", {});
  const table = el(
    "table",
    { class: "plain" },
    el("caption", {}, "How much better a rival may still be, by number of pulls"),
    columns("Pulls", "At most", "Leader"),
    body,
  );
  const details = el("details", {}, el("summary", {}, "The curve as a table"), table);
  let points = [];
  let status = null;
  let chosen = false; // the user chose the scale

  const draw = () => {
    if (status === null) return;
    const known = points.filter((point) => point.gap_bound !== null);
    say(caption, describe(known, status));
    choice.hidden = details.hidden = !known.length;
    if (!known.length) {
      const never = status.ruled_out !== null && status.check.noise_scale === null;
      const why = never
        ? "No curve: how much better a rival may be is not proven while the scale of the noise " +
          "is unknown. Arms are ruled out one by one instead."
        : "No curve yet: nothing is proven so far.";
      frame.replaceChildren(el("p", { class: "note" }, why));
      return;
    }
    if (!chosen) toggle.checked = status.epsilon > 0;
    frame.replaceChildren(
      boundChart(known, status.epsilon, {
        width: Math.max(frame.clientWidth, 240),
        logarithmic: toggle.checked && known.some((point) => point.gap_bound > 0),
        title: "By how much a rival may still be better, over the pulls",
        description: `${describe(known, status)} The numbers are in the table below.`,
      }),
    );
    if (details.open) fill(body, known, status);
  };
  toggle.addEventListener("change", () => {
    chosen = true;
    draw();
  });
  details.addEventListener("toggle", draw);
  new ResizeObserver(() => {
    if (frame.firstChild?.clientWidth !== frame.clientWidth) draw();
  }).observe(frame);

  return {
    node: section(
      "bound",
      "How far from proven",
      el("figure", {}, frame, caption),
      choice,
      details,
    ),
    replace(history) {
      points = history;
    },
    update(now) {
      status = now;
      // The history was loaded once; since then each status adds a point.
      const last = points.at(-1);
      if (now.gap_bound !== null && !(last?.pulls >= now.pulls)) {
        const { pulls, leader, rival, gap_bound } = now;
        points.push({ pulls, leader, rival, gap_bound });
      }
      draw();
    },
    get length() {
      return points.length;
    },
  };
}

function describe(points, status) {
  if (!points.length) return "";
  const first = points[0];
  const last = points.at(-1);
  const goal = status.ruled_out === null
    ? `and has to fall to ε = ${number(status.epsilon)}.`
    : "and falls at the end, when enough arms are ruled out.";
  return (
    `B(t), by how much a rival may still be better: ${number(first.gap_bound)} after ` +
    `${many(first.pulls, "pull")}, ${number(last.gap_bound)} after ${many(last.pulls, "pull")}, ` +
    (status.settled ? "and it is settled." : goal)
  );
}

/** Write at most 20 points, the last among them. */
function fill(body, points, status) {
  const step = Math.max(1, Math.ceil(points.length / 20));
  const some = points.filter((_, i) => (points.length - 1 - i) % step === 0);
  body.replaceChildren(
    ...some.map((point) =>
      el(
        "tr",
        {},
        el("td", {}, count(point.pulls)),
        el("td", {}, number(point.gap_bound)),
        el("td", {}, shortened(armName(status, point.leader))),
      ),
    ),
  );
}
