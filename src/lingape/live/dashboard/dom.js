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
  const select = el("select", {}, options.map(([value, text]) => el("option", { value }, text)));
  select.addEventListener("change", () => act(select.value));
  return el("label", { class: "choice" }, `${label} `, select);
}

/** Change an element's text only if it differs, so that screen readers and selections rest. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Return a number with three digits that count, and a real minus. */
export function number(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-4 || size >= 1e6)
    ? value.toExponential(2)
    : String(Number(value.toPrecision(3)));
  return text.replaceAll("-", "−");
}

/** Return the ends of an interval, rounded outward: it never looks tighter than it is. */
export function ends(low, high) {
  if (low === null || high === null) return "nothing proven";
  const digits = Math.min(Math.max(2 - Math.floor(Math.log10(high - low || 1)), 0), 9);
  const size = 10 ** digits;
  const slack = 1e-9; // 0.30000000000000004 is 0.3
  const down = Math.floor(low * size + slack) / size;
  const up = Math.ceil(high * size - slack) / size;
  return `${down.toFixed(digits)} to ${up.toFixed(digits)}`.replaceAll("-", "−");
}

/** Return an estimate with its interval. */
export function interval(value, low, high) {
  if (value === null) return "–";
  return low === null || high === null ? number(value) : `${number(value)} (${ends(low, high)})`;
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
    day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit",
  });
}

/** Return a number of hours in words, roughly. */
export function duration(hours) {
  for (const [least, size, unit] of [[72, 24, "day"], [2, 1, "hour"], [1 / 30, 1 / 60, "minute"]]) {
    if (hours >= least) return roughly(hours / size, unit);
  }
  return roughly(3600 * hours, "second");
}

function roughly(value, unit) {
  const round = Number(value.toPrecision(2));
  return `${number(round)} ${unit}${round === 1 ? "" : "s"}`;
}

/** Return how long ago something was. */
export function ago(seconds) {
  const hours = Math.max(0, Date.now() / 1000 - seconds) / 3600;
  return hours < 1 / 60 ? "just now" : `${duration(hours)} ago`;
}

/** Return how many pulls are still needed, and how long they take. */
export function timeLeft({ settled, remaining, per_hour }) {
  if (settled) return "done";
  if (remaining === null) return "not known yet";
  if (remaining.median === null) return "no end in sight";
  const pulls = `about ${count(Number(remaining.median.toPrecision(2)))} pulls`;
  return per_hour ? `${pulls}, ${duration(remaining.median / per_hour)}` : pulls;
}

/** Return how far an experiment is, as a bar with its value. */
export function progressBar({ settled, share_done, ruled_out, arms, retired }) {
  if (share_done === null) {
    return el("span", { class: "note" }, ruled_out === null ? "not known" : `${count(ruled_out)} of ${many(arms - retired, "arm")} ruled out`);
  }
  const percent = settled ? 100 : Math.min(99, Math.floor(100 * share_done));
  return el(
    "span",
    { class: "share" },
    el("progress", { max: 100, value: percent, "aria-label": "How far from proven" }),
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
