// A chart with everything around it: a title, a sentence, values on hover, its table, and buttons
// that save it. Observable Plot draws it (vendor/); colours are those of style.css.

import { button, el, save, say, svg } from "./dom.js";
import { shown, table } from "./table.js";
import { plot } from "./vendor/plot.js";

const LINES = 1_000; // in the table; the CSV has all
let made = 0;

/**
 * Return a chart.
 *
 * columns: what its table and CSV have for each row: {label: row => value}.
 * draw: returns Plot's options for rows, at a width in pixels.
 */
export function chart({ title, file, columns, draw, controls = null }) {
  made += 1;
  const id = `chart-${made}`;
  const frame = el("div", { class: "frame" });
  const sentence = el("p", { class: "sentence" });
  const details = el("details", {}, el("summary", {}, "Table"));
  const note = el("span", { class: "note", role: "status" });
  const saving = (label, make) =>
    button(
      label,
      async () => {
        try {
          save(await make(), `${file}.${label.toLowerCase()}`);
          say(note, "");
        } catch (trouble) {
          say(note, `That did not work: ${trouble.message}`);
        }
      },
      { class: "small", "aria-label": `Save ${title} as ${label}` },
    );
  const picture = () => standalone(frame.querySelector("svg"), title);
  const tools = el(
    "div",
    { class: "tools" },
    details,
    el(
      "span",
      { class: "buttons" },
      saving("PNG", async () => asPng(picture())),
      saving("SVG", async () => new Blob([picture().text], { type: "image/svg+xml" })),
      saving("CSV", async () => new Blob([asCsv(columns, rows)], { type: "text/csv" })),
      note,
    ),
  );
  const node = el(
    "figure",
    { class: "figure", "aria-labelledby": id },
    el("h3", { id }, title),
    controls,
    sentence,
    frame,
    tools,
  );
  let rows = [];
  let context = null;
  let width = 0;

  const redraw = () => {
    const room = Math.floor(frame.clientWidth);
    if (!rows.length || room < 50) return; // not shown
    width = room;
    const options = draw(rows, { width, context, narrow: width < 520 });
    const drawn = plot({
      className: "chart",
      width,
      ariaLabel: title,
      ariaDescription: `${sentence.textContent} The numbers are in the table below.`,
      style: "font-size: 12px; overflow: visible",
      ...options,
    });
    drawn.setAttribute("role", "img");
    // Plot labels the parts of a picture, which is of no use in an image.
    for (const part of drawn.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
    frame.replaceChildren(drawn);
  };
  const fill = () => {
    if (!details.open) return;
    const { node: filled, body } = table(title, Object.keys(columns), {
      name: "plain",
      hidden: true,
    });
    body.append(
      ...rows.slice(0, LINES).map((row) =>
        el(
          "tr",
          { role: "row" },
          Object.entries(columns).map(([label, value]) =>
            el("td", { role: "cell", "data-label": label }, shown(value(row))),
          ),
        ),
      ),
    );
    const more =
      rows.length > LINES
        ? el("p", { class: "note" }, `The CSV has all ${rows.length} rows.`)
        : null;
    const scroll = el(
      "div",
      { class: "scroll", tabindex: 0, role: "group", "aria-label": `Table: ${title}` },
      filled,
    );
    details.replaceChildren(details.firstChild, ...[scroll, more].filter((part) => part !== null));
  };
  details.addEventListener("toggle", fill);
  new ResizeObserver(() => {
    if (Math.floor(frame.clientWidth) !== width) redraw();
  }).observe(frame);

  return {
    node,
    /** Show rows; `said` says in a sentence what they show, or why there are none. */
    update(now, said, about) {
      [rows, context] = [now, about];
      say(sentence, said);
      tools.hidden = frame.hidden = !rows.length;
      if (!rows.length) frame.replaceChildren();
      redraw();
      fill();
    },
  };
}

/** Return a picture as text that needs no style sheet, with a title and a background. */
function standalone(picture, title) {
  const [width, height] = [picture.width.baseVal.value, picture.height.baseVal.value];
  const style = getComputedStyle(document.documentElement);
  const inner = picture.cloneNode(true);
  inner.setAttribute("y", "34");
  const whole = svg(
    "svg",
    { width: width + 16, height: height + 50, "font-family": "system-ui, sans-serif" },
    svg("rect", { width: "100%", height: "100%", fill: "var(--panel)" }),
    svg("text", { x: 12, y: 22, "font-size": 15, "font-weight": 600, fill: "var(--text)" }, title),
    inner,
  );
  inner.setAttribute("x", "8");
  whole.setAttribute("color", "var(--text)");
  const text = new XMLSerializer()
    .serializeToString(whole)
    .replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  return { text, width: width + 16, height: height + 50 };
}

/** Return a picture as pixels, two for each of the screen's. */
async function asPng({ text, width, height }) {
  const image = new Image();
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    image.src = address;
    await image.decode();
    const canvas = el("canvas", { width: 2 * width, height: 2 * height });
    canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
    return await new Promise((done) => canvas.toBlob(done, "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Return rows as CSV. Texts that a spreadsheet would take for a formula get an apostrophe. */
function asCsv(columns, rows) {
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    if (value instanceof Date) return value.toISOString();
    if (typeof value === "number") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = [
    Object.keys(columns),
    ...rows.map((row) => Object.values(columns).map((value) => value(row))),
  ];
  return `${lines.map((line) => line.map(cell).join(",")).join("\r\n")}\r\n`;
}
