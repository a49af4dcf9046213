// What factors do: how much each level adds.

import { chart } from "./chart.js";
import { confidence, el, many } from "./dom.js";
import { intervals } from "./intervals.js";
import { glossary } from "./terms.js";

/** The effects of factors; there are none where arms are not made of factors. */
export function effectsPart(source, name) {
  const picture = chart({
    title: "What factors do",
    file: `${name}-effects`,
    columns: {
      Factor: (row) => row.factor,
      Level: (row) => row.level,
      Effect: (row) => row.value,
      "at least": (row) => row.low,
      "at most": (row) => row.high,
      Remark: (row) => row.remark,
    },
    draw: (rows, { width, narrow }) =>
      intervals(rows, { width, narrow, axis: "compared with the first level", zero: true }),
  });
  return {
    id: "factors",
    title: "Factors",
    node: el(
      "div",
      {},
      picture.node,
      el("details", {}, el("summary", {}, "What these words mean"), glossary("effect", "interval")),
    ),
    applies: (status) => status.factors.length > 0,
    async update() {
      const found = await source("/effects");
      const rows = found.factors.flatMap(({ factor, reference, levels, best, proven }) => {
        const mark = (level) => (level === best ? (proven ? "best" : "looks best") : null);
        const line = (level, value, low, high, remark) => ({
          factor,
          level,
          value,
          low,
          high,
          remark,
          label: `${factor}: ${level}${remark ? ` (${remark})` : ""}`,
          detail: remark,
          tone: level === best ? "accent" : "soft",
        });
        return [
          line(reference, 0, null, null, ["reference", mark(reference)].filter(Boolean).join(", ")),
          ...levels.map(({ level, value, low, high, estimable }) =>
            line(level, value, low, high, estimable ? mark(level) : "cannot be told apart"),
          ),
        ];
      });
      const estimated = found.factors.some(({ levels }) =>
        levels.some(({ value }) => value !== null),
      );
      const known = rows.some((row) => row.low !== null);
      picture.update(
        estimated ? rows : [],
        known
          ? `Averages over the arms, after ${many(found.pulls, "reward")}. All intervals hold together, ` +
              `at all times, with probability at least ${confidence(found.delta)}.`
          : "No intervals yet: there are too few rewards.",
      );
    },
  };
}
