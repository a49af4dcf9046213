// Pictures: B(t) over the pulls, an arm's interval, a bar. Plain SVG, coloured by style.css.

import { count, number, svg } from "./dom.js";

const HEIGHT = 260;
const EDGE = { top: 14, right: 14, bottom: 34, left: 52 };

/** Return round numbers from low to high, about `most` of them. */
export function ticks(low, high, most = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1) {
    found.push(Number((i * step).toPrecision(12)));
  }
  return found;
}

/** Return 1, 2, 5, 10, ... from low to high; only powers of ten where those are enough. */
function logTicks(low, high) {
  const decades = Math.log10(high / low);
  const factors = decades > 3 ? [1] : decades > 1.5 ? [1, 3] : [1, 2, 5];
  const found = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power += 1) {
    for (const factor of factors) {
      const value = Number((factor * 10 ** power).toPrecision(12));
      if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
    }
  }
  return found.length > 1 ? found : [low, high];
}

/** Return where values of B(t) go, and the lines to draw across. */
function heightScale(values, epsilon, logarithmic) {
  const bottom = HEIGHT - EDGE.bottom;
  const span = bottom - EDGE.top;
  const top = Math.max(...values, epsilon);
  if (logarithmic) {
    const positive = [...values, epsilon].filter((value) => value > 0);
    const low = Math.min(...positive) / 1.3;
    const high = Math.max(...positive) * 1.15;
    const part = (value) => Math.log(Math.max(value, low) / low) / Math.log(high / low);
    return { place: (value) => bottom - span * part(value), marks: logTicks(low, high) };
  }
  const low = Math.min(0, ...values);
  const high = top > low ? top + 0.05 * (top - low) : low + 1;
  return {
    place: (value) => bottom - (span * (value - low)) / (high - low),
    marks: ticks(low, high),
  };
}

/**
 * Return B(t) over the pulls as a picture, `width` pixels wide.
 *
 * points: {pulls, gap_bound}, in order, with bounds that are numbers.
 */
export function boundChart(points, epsilon, { width, logarithmic, title, description }) {
  const picture = svg(
    "svg",
    {
      class: "chart",
      role: "img",
      "aria-labelledby": "bound-chart-title bound-chart-description",
      width,
      height: HEIGHT,
      viewBox: `0 0 ${width} ${HEIGHT}`,
    },
    svg("title", { id: "bound-chart-title" }, title),
    svg("desc", { id: "bound-chart-description" }, description),
  );
  const right = width - EDGE.right;
  const bottom = HEIGHT - EDGE.bottom;
  const last = points.at(-1);
  const most = Math.max(last.pulls, 1);
  const x = (pulls) => EDGE.left + ((right - EDGE.left) * pulls) / most;
  const { place: y, marks } = heightScale(
    points.map((point) => point.gap_bound),
    epsilon,
    logarithmic,
  );
  for (const value of marks) {
    picture.append(
      svg("line", { class: "grid", x1: EDGE.left, x2: right, y1: y(value), y2: y(value) }),
      svg("text", { class: "tick end", x: EDGE.left - 8, y: y(value) + 4 }, number(value)),
    );
  }
  for (const pulls of ticks(0, most, width < 500 ? 3 : 6).filter(Number.isInteger)) {
    picture.append(
      svg("line", { class: "axis", x1: x(pulls), x2: x(pulls), y1: bottom, y2: bottom + 5 }),
      svg("text", { class: "tick middle", x: x(pulls), y: bottom + 18 }, count(pulls)),
    );
  }
  picture.append(
    svg("line", { class: "axis", x1: EDGE.left, x2: right, y1: bottom, y2: bottom }),
    svg("text", { class: "tick middle", x: (EDGE.left + right) / 2, y: HEIGHT - 3 }, "pulls"),
  );
  const spot = (point) => `${x(point.pulls).toFixed(1)} ${y(point.gap_bound).toFixed(1)}`;
  const path = `M${points.map(spot).join("L")}`;
  const under = `${path}L${x(last.pulls)} ${bottom}L${x(points[0].pulls)} ${bottom}Z`;
  picture.append(
    svg("path", { class: "under", d: under }),
    svg("path", { class: "curve", d: path }),
  );
  if (epsilon > 0 || !logarithmic) {
    const height = y(epsilon);
    picture.append(
      svg("line", { class: "goal", x1: EDGE.left, x2: right, y1: height, y2: height }),
      svg(
        "text",
        { class: "goal-name", x: EDGE.left + 6, y: height - 6 },
        `stop at ε = ${number(epsilon)}`,
      ),
    );
  }
  picture.append(svg("circle", { class: "now", cx: x(last.pulls), cy: y(last.gap_bound), r: 4.5 }));
  return picture;
}

/** Return the scale on which the intervals of arms are drawn, in percent of the width. */
export function gapScale(arms, epsilon) {
  const known = arms.filter((arm) => Number.isFinite(arm.gap));
  const ends = known.flatMap((arm) => [arm.gap, arm.low, arm.high]).filter(Number.isFinite);
  const low = Math.min(0, ...ends);
  const high = Math.max(0, epsilon, ...ends);
  const span = high - low || 1;
  const digits = Math.min(Math.max(2 - Math.floor(Math.log10(span)), 0), 12);
  return {
    exact: (value) => value.toFixed(digits).replace("-", "−"), // all with the same decimals
    place: (value) => 6 + (88 * (Math.min(Math.max(value, low), high) - low)) / span,
    marks: ticks(low, high, 5),
  };
}

const at = (part) => `${part.toFixed(2)}%`;

/** Return an arm's interval, on a line that shows the leader (0) and ε. */
export function intervalPicture(arm, epsilon, { place }) {
  const picture = svg("svg", { class: "interval", "aria-hidden": "true", height: 22 });
  const upright = (value, name, y1 = 0, y2 = 22) =>
    svg("line", { class: name, x1: at(place(value)), x2: at(place(value)), y1, y2 });
  picture.append(upright(0, "zero"));
  if (epsilon > 0) picture.append(upright(epsilon, "goal"));
  if (Number.isFinite(arm.low) && Number.isFinite(arm.high)) {
    const over = arm.high > epsilon ? "span open" : "span";
    picture.append(
      svg("line", { class: over, x1: at(place(arm.low)), x2: at(place(arm.high)), y1: 11, y2: 11 }),
      upright(arm.low, over, 6, 16),
      upright(arm.high, over, 6, 16),
    );
  }
  if (Number.isFinite(arm.gap)) {
    picture.append(svg("circle", { class: "mean", cx: at(place(arm.gap)), cy: 11, r: 4 }));
  }
  return picture;
}

/** Return the axis of the pictures in a table. */
export function tableAxis({ place, marks }) {
  const picture = svg("svg", { class: "interval", "aria-hidden": "true", height: 18 });
  for (const value of marks) {
    const x = at(place(value));
    picture.append(svg("text", { class: "tick middle", x, y: 13 }, number(value)));
  }
  return picture;
}

/** Return a bar of an arm's rewards and, after them, its tickets, as parts of `most`. */
export function bar({ pulls, pending, overdue }, most) {
  const part = (value) => (100 * value) / Math.max(most, 1);
  const piece = (name, from, value) =>
    svg("rect", { class: name, x: at(part(from)), y: 0, width: at(part(value)), height: 12 });
  return svg(
    "svg",
    { class: "bar", "aria-hidden": "true", height: 12 },
    piece("pulls", 0, pulls),
    pending > 0 ? piece("pending", pulls, pending) : null,
    overdue > 0 ? piece("overdue", pulls + pending, overdue) : null,
  );
}

/** Return the scale on which residuals are drawn: 0 in the middle, at least 4 to each side. */
export function fitScale(fits) {
  const end = Math.max(4, ...fits.map((fit) => Math.abs(fit.z)));
  return {
    place: (value) => 50 + (44 * value) / end,
    marks: ticks(-end, end, 4),
  };
}

/** Return how far off an arm is: a bar from 0. */
export function fitPicture({ z }, { place }) {
  const start = place(Math.min(z, 0));
  const line = { x1: at(place(0)), x2: at(place(0)), y1: 0, y2: 22 };
  return svg(
    "svg",
    { class: "interval", "aria-hidden": "true", height: 22 },
    svg("rect", {
      class: Math.abs(z) > 4 ? "off far" : "off",
      x: at(start),
      y: 6,
      width: at(place(Math.max(z, 0)) - start),
      height: 10,
    }),
    svg("line", { class: "zero", ...line }),
  );
}
