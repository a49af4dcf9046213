// Estimates with their intervals, one below the other: what arms pay, and what factors do.

import { interval, shortened } from "./dom.js";
import { labels, strips } from "./strips.js";
import { dot, pointerY, ruleX, ruleY, text, tickX, tip } from "./vendor/plot.js";

/**
 * Return Plot's options for a picture of intervals.
 *
 * rows: {label, value, low, high, tone, detail}, from the top; tone is a colour of style.css.
 * zero: whether values are differences, so that 0 is marked.
 * goal: [value, label] of a line to mark, or null.
 */
export function intervals(rows, { width, narrow, axis, zero = false, goal = null }) {
  const keyed = rows.map((row, i) => ({ ...row, key: String(i), tone: `var(--${row.tone})` }));
  const known = keyed.filter(({ low, high }) => low !== null && high !== null);
  const dy = narrow ? 9 : 0;
  const title = ({ label, value, low, high, detail }) =>
    [shortened(label, 60), interval(value, low, high), detail].filter(Boolean).join("\n");
  return {
    ...strips(keyed, { width, narrow, axis, step: 26, top: 12, x: { nice: true } }),
    marks: [
      zero ? ruleX([0], { stroke: "var(--soft)" }) : null,
      goal === null ? null : ruleX([goal[0]], { stroke: "var(--goal)", strokeDasharray: "5 4" }),
      goal === null
        ? null
        : text([goal], {
            x: (d) => d[0],
            text: (d) => d[1],
            frameAnchor: "top",
            dy: -8,
            fill: "var(--goal)",
          }),
      labels(keyed, { width, narrow }),
      ruleY(known, { y: "key", x1: "low", x2: "high", stroke: "tone", strokeWidth: 2.5, dy }),
      tickX(known, {
        y: "key",
        x: "low",
        stroke: "tone",
        strokeWidth: 2,
        inset: narrow ? 11 : 5,
        dy,
      }),
      tickX(known, {
        y: "key",
        x: "high",
        stroke: "tone",
        strokeWidth: 2,
        inset: narrow ? 11 : 5,
        dy,
      }),
      dot(keyed, { y: "key", x: "value", fill: "tone", r: 4.5, dy }),
      tip(keyed, pointerY({ y: "key", x: "value", title, dy })),
    ],
  };
}
