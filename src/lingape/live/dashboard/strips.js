// Pictures with a strip for each row, one below the other: what they share.

import { shortened } from "./dom.js";
import { text } from "./vendor/plot.js";

/** Return how much room names have to the left of a picture; on a phone they are above. */
const roomFor = ({ width, narrow }) => (narrow ? 8 : Math.min(Math.round(0.42 * width), 360));

/** Return the names of rows, {key, label}. */
export function labels(rows, { width, narrow }) {
  const room = roomFor({ width, narrow });
  return text(rows, {
    y: "key",
    text: (row) => shortened(row.label, 120),
    frameAnchor: "left",
    textAnchor: "start",
    dx: narrow ? 0 : -room,
    dy: narrow ? -9 : 0,
    lineWidth: (narrow ? width - 24 : room - 12) / 12.6,
    textOverflow: "ellipsis",
    fill: "var(--text)",
    stroke: "var(--panel)",
    strokeWidth: 4,
  });
}

/**
 * Return Plot's options for strips: their size, and both axes.
 *
 * step: how high a strip is; on a phone the name needs a line of its own.
 * top: room above them.
 * x: what there is to say about the axis, beyond its label.
 */
export function strips(rows, { width, narrow, axis, step = 24, top = 26, x = {} }) {
  return {
    height: (narrow ? 42 : step) * rows.length + top + 44,
    marginLeft: roomFor({ width, narrow }),
    marginRight: 16,
    marginTop: top,
    marginBottom: 44,
    x: {
      label: axis,
      labelAnchor: "center",
      labelArrow: "none",
      grid: true,
      ticks: narrow ? 4 : 7,
      ...x,
    },
    y: { axis: null, domain: rows.map(({ key }) => key), padding: 0.25 },
  };
}
