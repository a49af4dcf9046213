// How far from proven, over the pulls and over time.

import { chart } from "./chart.js";
import { choice, count, el, moment, number } from "./dom.js";
import { glossary } from "./terms.js";
import { areaY, dot, line, pointerX, ruleY, text, tip } from "./vendor/plot.js";

const POINTS = 300;
const MEASURES = {
  p_value: {
    label: "evidence against the closest rival",
    axis: "p-value of the closest rival",
    words:
      "The p-value of the closest rival. An arm is ruled out when its p-value falls to δ; when all but one are, the question is answered. If ε is above 0, it is also answered when no rival can be better by more than that.",
    goal: ({ delta }) => [delta, `ruled out at δ = ${number(delta)}`],
    log: true,
  },
  left: {
    label: "arms that may still be best",
    axis: "arms not ruled out",
    words:
      "How many arms may still be best. When one is left, the question is answered. If ε is above 0, several may be left, all within ε of the answer.",
    goal: () => [1, "one is left"],
    log: false,
  },
  gap_bound: {
    label: "how much better a rival may be",
    axis: "a rival may be better by at most",
    words:
      "By how much a rival may still be better, at most. The question is answered when that falls to ε, or when all other arms are ruled out.",
    goal: ({ epsilon }) => [epsilon, `stop at ε = ${number(epsilon)}`],
    log: true,
  },
};

/** How the proof came about. */
export function progressPart(source, name) {
  let [points, status, measure, over] = [[], null, null, "pulls"];
  let loading = null;
  const measures = choice(
    "Show",
    Object.entries(MEASURES).map(([key, { label }]) => [key, label]),
    (key) => {
      measure = key;
      draw();
    },
  );
  const scales = choice(
    "over",
    [
      ["pulls", "pulls"],
      ["time", "time"],
    ],
    (key) => {
      over = key;
      draw();
    },
  );
  const controls = el("p", { class: "controls" }, measures, " ", scales);
  const picture = chart({
    title: "How far from proven",
    file: `${name}-progress`,
    columns: {
      Pulls: (point) => point.pulls,
      Time: (point) => new Date(1000 * point.time),
      Leader: (point) => point.leader_name,
      "p-value of the closest rival": (point) => point.p_value,
      "Arms not ruled out": (point) => point.left,
      "A rival may be better by": (point) => point.gap_bound,
    },
    controls,
    draw: (known, { width, narrow, context }) => drawProgress(known, width, narrow, context),
  });

  const draw = () => {
    const raced = status.ruled_out !== null;
    const select = measures.querySelector("select");
    for (const key of ["p_value", "left"]) {
      const option = select.querySelector(`[value=${key}]`);
      option.hidden = option.disabled = !raced;
    }
    // With ε above 0, arms within ε are never told apart: the bound says how far it is.
    const bounded =
      !raced || (status.epsilon > 0 && points.some((point) => point.gap_bound !== null));
    const chosen = measure ?? (bounded ? "gap_bound" : "p_value");
    select.value = chosen;
    const known = points
      .filter((point) => point[chosen] !== null)
      .map((point) => ({
        ...point,
        value: point[chosen],
        at: over === "time" ? new Date(1000 * point.time) : point.pulls,
        leader_name:
          status.standings.find((arm) => arm.arm === point.leader)?.name ?? `arm ${point.leader}`,
      }));
    const open =
      chosen === "gap_bound" && raced && status.check.noise_scale === null
        ? "How much better a rival may be is not proven while the scale of the noise is unknown. Arms are ruled out one by one instead."
        : "No curve yet: nothing is proven so far.";
    const ends =
      points.at(-1)?.pulls < status.pulls
        ? ` The curve ends at reward ${count(points.at(-1).pulls)}.`
        : "";
    picture.update(known, known.length ? MEASURES[chosen].words + ends : open, {
      measure: MEASURES[chosen],
      status,
      over,
    });
  };
  /** Load the whole curve: a long log is replayed a piece at a time. */
  const load = async (signal) => {
    for (;;) {
      const history = await source("/history", `?points=${POINTS}`);
      points = history.points;
      draw();
      if (history.complete || signal?.aborted) return;
      await new Promise((done) => setTimeout(done, 500));
    }
  };
  return {
    id: "progress",
    title: "Progress",
    node: el(
      "div",
      {},
      picture.node,
      el(
        "details",
        {},
        el("summary", {}, "What these words mean"),
        glossary("p-value", "evidence", "gap", "accuracy"),
      ),
    ),
    async update(now, signal) {
      status = now;
      const last = points.at(-1);
      if (
        loading === null ||
        points.length > 3 * POINTS ||
        last?.pulls > now.pulls ||
        now.corrections !== loading.corrections
      ) {
        await load(signal);
        loading = { corrections: now.corrections };
        return;
      }
      // The curve was loaded before; since then each look adds a point.
      if (now.leader !== null && now.pulls > (last?.pulls ?? 0)) {
        const rivals = now.standings.filter(
          (arm) => arm.arm !== now.leader && arm.p_value !== null,
        );
        points.push({
          pulls: now.pulls,
          time: now.last,
          leader: now.leader,
          rival: now.rival,
          gap_bound: now.gap_bound,
          p_value: rivals.length ? Math.max(...rivals.map((arm) => arm.p_value)) : null,
          left: now.ruled_out === null ? null : now.contenders - now.ruled_out,
        });
      }
      draw();
    },
  };
}

function drawProgress(known, width, narrow, { measure, status, over }) {
  const goal = measure.goal(status);
  const log = measure.log && goal[0] > 0 && known.every((point) => point.value > 0);
  const [most, least] = [
    Math.max(...known.map((point) => point.value), goal[0]),
    Math.min(...known.map((point) => point.value), goal[0]),
  ];
  const floor = log ? least / 1.3 : 0;
  const step = measure.log ? undefined : "step-after";
  return {
    height: narrow ? 240 : 300,
    marginLeft: 56,
    marginRight: 18,
    marginTop: 24,
    marginBottom: 44,
    x: {
      label: over === "time" ? "time" : "pulls",
      labelAnchor: "center",
      labelArrow: "none",
      ticks: narrow ? 4 : 7,
      nice: false,
      ...(over === "time"
        ? { type: "time" }
        : { tickFormat: (value) => (Number.isInteger(value) ? count(value) : "") }),
    },
    y: {
      label: measure.axis,
      labelArrow: "none",
      grid: true,
      type: log ? "log" : "linear",
      domain: [floor, log ? most * 1.15 : most * 1.05 || 1],
      ticks: 5,
      tickFormat: (value) => number(value),
      clamp: true,
    },
    marks: [
      areaY(known, {
        x: "at",
        y1: floor,
        y2: "value",
        fill: "var(--accent-soft)",
        fillOpacity: 0.5,
        curve: step,
      }),
      line(known, { x: "at", y: "value", stroke: "var(--accent)", strokeWidth: 2.25, curve: step }),
      ruleY([goal[0]], { stroke: "var(--goal)", strokeDasharray: "5 4" }),
      text([goal], {
        y: (d) => d[0],
        text: (d) => d[1],
        frameAnchor: "left",
        textAnchor: "start",
        dx: 6,
        dy: -8,
        fill: "var(--goal)",
        stroke: "var(--panel)",
      }),
      dot(known.slice(-1), { x: "at", y: "value", fill: "var(--accent)", r: 4.5 }),
      tip(
        known,
        pointerX({
          x: "at",
          y: "value",
          title: (point) =>
            `after ${count(point.pulls)} pulls, ${moment(point.time)}\n${number(point.value)}\n${point.leader_name} led`,
        }),
      ),
    ],
  };
}
