// Elements and numbers. All text enters the page as text nodes, never as HTML: names of arms come
// from whoever began the experiment.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== null && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** Return an HTML element; children are nodes or texts. */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Return an SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
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

/** Return how many arms are ruled out as best. */
export function ruledOut({ ruled_out, arms, retired }) {
  return `${count(ruled_out)} of ${many(arms - retired, "arm")} ${ruled_out === 1 ? "is" : "are"} ruled out`;
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
