// What happens: pulls by day and by arm, trials without a reward, and the workers.

import { chart } from "./chart.js";
import { ago, count, el, many, moment, shortened } from "./dom.js";
import { labels, strips } from "./strips.js";
import { row, table } from "./table.js";
import { glossary, term } from "./terms.js";
import { barX, pointerX, pointerY, rectY, stackX, stackY, text, tip } from "./vendor/plot.js";

const SHOWN = 20; // arms in a chart
const HOUR = 3600;
const DAY = 24 * HOUR;

/** Return hours summed up by day, in the time zone of the reader, or as they are if they are few. */
function byDay(hours) {
  if (!hours.length) return { unit: "hour", bins: [] };
  const span = hours.at(-1).start - hours[0].start;
  const unit = span > 3 * DAY ? "day" : "hour";
  const bins = new Map();
  for (const { start, rewards, voided } of hours) {
    const at = new Date(1000 * start);
    if (unit === "day") at.setHours(0, 0, 0, 0);
    const bin = bins.get(at.getTime()) ?? { at, rewards: 0, voided: 0 };
    bin.rewards += rewards;
    bin.voided += voided;
    bins.set(at.getTime(), bin);
  }
  return { unit, bins: [...bins.values()] };
}

const when = (at, unit) =>
  at.toLocaleString(
    "en-GB",
    unit === "day"
      ? { weekday: "short", day: "numeric", month: "short", year: "numeric" }
      : { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" },
  );

/** Return which colour stands for what, in a line above the picture. */
function legend(parts) {
  const marks = Object.entries(parts).map(([part, tone], i, all) => ({
    part,
    tone: `var(--${tone})`,
    dx: all.slice(0, i).reduce((sum, [before]) => sum + 8 * before.length + 28, 0),
  }));
  const placed = (dx) => ({ frameAnchor: "top-left", textAnchor: "start", dx, dy: -20 });
  return marks.map((mark) => [
    text([mark], { text: () => "■", fill: "tone", ...placed(mark.dx) }),
    text([mark], { text: "part", fill: "var(--soft)", ...placed(mark.dx + 14) }),
  ]);
}

/** Return bars that consist of parts, one below the other. */
function bars(items, parts, { width, narrow, axis }) {
  const rows = items.map((item, i) => ({ ...item, key: String(i) }));
  const pieces = rows.flatMap((item) =>
    Object.entries(parts).map(([part, tone]) => ({
      key: item.key,
      part,
      value: item[part],
      tone: `var(--${tone})`,
    })),
  );
  const told = (item) =>
    Object.keys(parts)
      .filter((part) => item[part] > 0 || part === Object.keys(parts)[0])
      .map((part) => `${part}: ${count(item[part])}`);
  return {
    ...strips(rows, {
      width,
      narrow,
      axis,
      x: { tickFormat: (value) => (Number.isInteger(value) ? count(value) : "") },
    }),
    marks: [
      barX(
        pieces,
        stackX({
          y: "key",
          x: "value",
          fill: "tone",
          order: Object.values(parts).map((tone) => `var(--${tone})`),
          insetTop: narrow ? 22 : 0,
        }),
      ),
      labels(rows, { width, narrow }),
      Object.keys(parts).length > 1 ? legend(parts) : null,
      tip(
        rows,
        pointerY({
          y: "key",
          x: (item) => Object.keys(parts).reduce((sum, part) => sum + item[part], 0),
          title: (item) => [shortened(item.label, 60), ...told(item)].join("\n"),
        }),
      ),
    ],
  };
}

/** Where the pulls went, when they came, and who made them. */
export function activityPart(source, name) {
  const file = (what) => `${name}-${what}`;
  const days = chart({
    title: "Pulls by day",
    file: file("days"),
    columns: {
      From: (bin) => bin.at,
      Rewards: (bin) => bin.rewards,
      Voided: (bin) => bin.voided,
    },
    draw: (bins, { narrow, context: unit }) => {
      const end = (bin) =>
        new Date(
          unit === "day"
            ? new Date(bin.at).setDate(bin.at.getDate() + 1)
            : bin.at.getTime() + 1000 * HOUR,
        );
      const pieces = bins.flatMap((bin) => [
        { ...bin, part: 0, value: bin.rewards, tone: "var(--accent)" },
        { ...bin, part: 1, value: bin.voided, tone: "var(--faded)" },
      ]);
      return {
        height: 240,
        marginLeft: 50,
        marginTop: 34,
        marginBottom: 40,
        x: {
          type: "time",
          label: null,
          ticks: unit === "day" && bins.length <= 10 && !narrow ? "day" : narrow ? 4 : 8,
        },
        y: {
          label: null,
          grid: true,
          ticks: 4,
          tickFormat: (value) => (Number.isInteger(value) ? count(value) : ""),
        },
        marks: [
          legend({ [`rewards in each ${unit}`]: "accent", voided: "faded" }),
          rectY(
            pieces,
            stackY({
              x1: "at",
              x2: end,
              y: "value",
              fill: "tone",
              order: "part",
              insetLeft: 0.5,
              insetRight: 0.5,
            }),
          ),
          tip(
            bins,
            pointerX({
              x: (bin) => new Date((bin.at.getTime() + end(bin).getTime()) / 2),
              y: (bin) => bin.rewards + bin.voided,
              title: (bin) =>
                `${when(bin.at, unit)}\n${many(bin.rewards, "reward")}${bin.voided ? `\n${count(bin.voided)} voided` : ""}`,
            }),
          ),
        ],
      };
    },
  });
  const byArm = chart({
    title: "Pulls by arm",
    file: file("pulls"),
    columns: {
      Arm: (arm) => arm.label,
      Rewards: (arm) => arm.rewards,
      Waiting: (arm) => arm.waiting,
      Overdue: (arm) => arm.overdue,
    },
    draw: (arms, size) =>
      bars(
        arms,
        { rewards: "accent", waiting: "waiting", overdue: "bad-line" },
        { ...size, axis: "pulls" },
      ),
  });
  const lost = chart({
    title: "Voided trials by arm",
    file: file("voided"),
    columns: {
      Arm: (arm) => arm.label,
      Voided: (arm) => arm.voided,
      Rewards: (arm) => arm.rewards,
    },
    draw: (arms, size) => bars(arms, { voided: "faded" }, { ...size, axis: "voided trials" }),
  });
  const crew = chart({
    title: "Workers",
    file: file("workers"),
    columns: {
      Worker: (worker) => worker.label,
      Asked: (worker) => worker.asked,
      Told: (worker) => worker.told,
      Voided: (worker) => worker.voided,
      Waiting: (worker) => worker.waiting,
      Overdue: (worker) => worker.overdue,
      "Last seen": (worker) => new Date(1000 * worker.last_seen),
    },
    draw: (workers, size) =>
      bars(
        workers,
        { told: "accent", waiting: "waiting", overdue: "bad-line", voided: "faded" },
        { ...size, axis: "trials" },
      ),
  });
  const { node: seen, body } = table(
    "Workers, those seen last first",
    ["Worker", "Asked", "Told", term("overdue", "Overdue"), "Last seen"],
    { name: "workers", hidden: true },
  );
  return {
    id: "activity",
    title: "Activity",
    node: el(
      "div",
      {},
      days.node,
      byArm.node,
      lost.node,
      crew.node,
      seen,
      el(
        "details",
        {},
        el("summary", {}, "What these words mean"),
        glossary("pull", "waiting", "overdue", "voided"),
      ),
    ),
    async update(status) {
      const found = await source("/activity");
      const { unit, bins } = byDay(found.hours);
      days.update(
        bins,
        bins.length
          ? `${many(status.pulls, "reward")} since ${moment(status.began)}.`
          : "No rewards yet.",
        unit,
      );
      const arms = status.standings
        .map((arm) => ({
          label: arm.name,
          rewards: arm.pulls,
          waiting: arm.pending,
          overdue: arm.overdue,
          voided: arm.voided,
        }))
        .sort((a, b) => b.rewards + b.waiting + b.overdue - (a.rewards + a.waiting + a.overdue));
      const pulled = arms.filter((arm) => arm.rewards + arm.waiting + arm.overdue > 0);
      byArm.update(
        pulled.slice(0, SHOWN),
        pulled.length
          ? `Arms that settle the contest best are pulled most, not those that pay most.${status.arms > SHOWN ? ` The ${count(Math.min(SHOWN, pulled.length))} most pulled of ${many(status.arms, "arm")}.` : ""}`
          : "No arm was pulled yet.",
      );
      const voided = arms.filter((arm) => arm.voided > 0).sort((a, b) => b.voided - a.voided);
      lost.update(
        voided.slice(0, SHOWN),
        voided.length
          ? `${many(status.voided, "trial")} will have no reward. If that is because of the arm, the answer may be wrong: the model check compares arms.`
          : "No trial was voided.",
      );
      const workers = found.workers.map((worker) => ({
        ...worker,
        label: worker.name ?? "no name given",
        waiting: worker.pending,
      }));
      crew.update(
        workers.slice(0, SHOWN),
        workers.length
          ? `${many(workers.length + found.other_workers, "worker")} asked for trials.`
          : "Nobody has asked for a trial yet.",
      );
      seen.hidden = !workers.length;
      body.replaceChildren(
        ...workers.map((worker) =>
          row(
            ["Worker", shortened(worker.label, 60)],
            ["Asked", count(worker.asked), "numbers"],
            ["Told", count(worker.told), "numbers"],
            ["Overdue", count(worker.overdue), "numbers"],
            [
              "Last seen",
              el(
                "time",
                {
                  datetime: new Date(1000 * worker.last_seen).toISOString(),
                  title: moment(worker.last_seen),
                },
                ago(worker.last_seen),
              ),
            ],
          ),
        ),
      );
    },
  };
}
