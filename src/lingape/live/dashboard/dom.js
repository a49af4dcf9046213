// Elements, numbers and words. All text enters the page as text nodes, never as HTML: names of
// arms come from whoever began the experiment.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== null && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null));
  return node;
}

/** Return an HTML element; children are nodes, texts, or lists of these. */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Return an SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** Return a button. */
export function button(label, act, attributes = {}) {
  const node = el("button", { type: "button", ...attributes }, label);
  node.addEventListener("click", act);
  return node;
}

/** Return a choice among [value, label] pairs, with its label. */
export function choice(label, options, act) {
  const select = el(
    "select",
    {},
    options.map(([value, text]) => el("option", { value }, text)),
  );
  select.addEventListener("change", () => act(select.value));
  return el("label", { class: "choice" }, `${label} `, select);
}

/** Change an element's text only if it differs, so that screen readers and selections rest. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Return a number with three digits that count, all digits before the point, and a real minus. */
export function number(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return signed(value.toExponential(2));
  return signed(
    size >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3))),
  );
}

const signed = (text) => text.replaceAll("-", "−");

/** Return a number rounded down, for what is "at least" so much. */
export function atLeast(value) {
  if (!(value > 0)) return number(value);
  const size = 10 ** Math.max(0, 2 - Math.floor(Math.log10(value)));
  return number(Math.floor(value * size * (1 + 1e-12)) / size);
}

/** Return how many decimals make sense for an interval. */
function decimals(low, high) {
  return high > low ? Math.min(Math.max(Math.ceil(1 - Math.log10(high - low)), 0), 9) : 3;
}

const fixed = (value, digits) =>
  signed(
    (value + 0).toLocaleString("en", {
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    }),
  );

/** Return the ends of an interval, rounded outward: it never looks tighter than it is. */
function ends(low, high) {
  if (low === null || high === null) return "nothing proven";
  const digits = decimals(low, high);
  const size = 10 ** digits;
  const slack = 1e-9 * Math.max(1, Math.abs(low * size), Math.abs(high * size)); // 0.1 + 0.2 is 0.3
  const down = Math.floor(low * size + slack) / size;
  const up = Math.ceil(high * size - slack) / size;
  return `${fixed(down, digits)} to ${fixed(up, digits)}`;
}

/** Return an estimate with its interval. */
export function interval(value, low, high) {
  if (value === null) return "–";
  if (low === null || high === null) return number(value);
  return `${fixed(value, decimals(low, high))} (${ends(low, high)})`;
}

/** Return how many, with its thousands apart. */
export function count(value) {
  return value.toLocaleString("en");
}

/** Return "1 pull", "2 pulls". */
export function many(value, one, more = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : more}`;
}

/** Return 1 - δ as a percentage. */
export function confidence(delta) {
  const percent = String(Number((100 * (1 - delta)).toPrecision(10)));
  return percent === "100" ? `1 − ${delta}` : `${percent}\u00a0%`;
}

/** Return text that fits a line of its own. */
export function shortened(text, most = 80) {
  const letters = [...text];
  return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}…`;
}

/** Return an arm's name; of thousands of arms, only the foremost come with theirs. */
export function armName(status, arm) {
  return status.standings.find((known) => known.arm === arm)?.name ?? `arm ${arm}`;
}

/** Return a time in seconds since 1970 as "16 Nov 2026, 14:03". */
export function moment(seconds) {
  const time = new Date(1000 * seconds);
  return time.toLocaleString("en-GB", {
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
  });
}

/** Return a number of hours in words, roughly. */
function duration(hours) {
  for (const [least, size, unit] of [
    [72, 24, "day"],
    [2, 1, "hour"],
    [1 / 30, 1 / 60, "minute"],
  ]) {
    if (hours >= least) return roughly(hours / size, unit);
  }
  return roughly(3600 * hours, "second");
}

function roughly(value, unit) {
  const round = Number(value.toPrecision(2));
  return `${number(round)} ${unit}${round === 1 ? "" : "s"}`;
}

/** Whether this is a report, which does not change: what is "today" or "now" is not in it. */
export const still = document.body.classList.contains("report");

/** Return how long ago something was; in a report, when. */
export function ago(seconds) {
  if (still) return moment(seconds);
  const hours = Math.max(0, Date.now() / 1000 - seconds) / 3600;
  return hours < 1 / 60 ? "just now" : `${duration(hours)} ago`;
}

/** Return how many pulls are still needed, and how long they take. */
export function timeLeft({ settled, remaining, per_hour }) {
  if (settled) return "done";
  if (remaining === null) return "not known yet";
  if (remaining.median === null) return "no end in sight";
  const pulls = `about ${many(Number(remaining.median.toPrecision(2)), "pull")}`;
  return per_hour ? `${pulls}, ${duration(remaining.median / per_hour)}` : pulls;
}

/** Return how far an experiment is, as a bar with its value. */
export function progressBar({ settled, share_done, ruled_out, contenders }) {
  if (share_done === null) {
    return el(
      "span",
      { class: "note" },
      ruled_out === null
        ? "not known"
        : `${count(ruled_out)} of ${many(contenders, "arm")} ruled out`,
    );
  }
  const percent = settled ? 100 : Math.min(99, Math.floor(100 * share_done));
  return el(
    "span",
    { class: "share" },
    el("progress", { max: 100, value: percent, "aria-label": "How far" }),
    ` ${percent}\u00a0%`,
  );
}

/** Return the words and the class for the state of an experiment. */
export function stateOf({ settled, warnings }) {
  const word = settled ? "settled" : "running";
  if (warnings.length) return [`${word}, but doubtful`, "bad"];
  return [word, settled ? "good" : ""];
}

/** Have a file saved. */
export function save(blob, file) {
  const link = el("a", { href: URL.createObjectURL(blob), download: file });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
