// The model check: do rewards look as the certificate assumes?

import { chart } from "./chart.js";
import { el, many, number, shortened } from "./dom.js";
import { glossary } from "./terms.js";
import { dot, line, pointer, text, tip } from "./vendor/plot.js";

const FAR = 4; // standard deviations: rare by chance
const LABELS = 5; // arms that are named in the chart
const CALM = "This does not prove them: data can only contradict assumptions.";
const RARE = 1e-3; // for tickets, see losses.py
const ADVICE = "Do not rely on the certificate before this is explained.";
const ON_REWARDS =
  "If a few arms stand out below, look at how they were measured. If many do, the model misses " +
  "something. Rewards that were measured well need not be measured again: lingape live refit " +
  "begins a successor with another model or another noise, and all rewards.";
const ON_TICKETS =
  "Look in the log at why tickets were voided. If it was because of the arm, each of them should " +
  "have been told the worst reward there is: begin again, and add the rewards of this log with " +
  "the worst reward for each such ticket.";

function byChance(p) {
  if (p < 1e-4) return "in fewer than 1 of 10,000 cases";
  return p > 0.995 ? "in nearly all cases" : `in ${number(100 * p)}\u00a0% of cases`;
}

/** Return what to do about the warnings. */
function advice({ warnings, voided_p, overdue_p }) {
  const lost = [voided_p, overdue_p].filter((p) => p !== null && p < RARE).length;
  const parts = [ADVICE, lost < warnings.length ? ON_REWARDS : null, lost > 0 ? ON_TICKETS : null];
  return parts.filter((part) => part !== null).join(" ");
}

function apart(p, none) {
  return p === null ? none : `such a difference between arms comes by chance ${byChance(p)}`;
}

/** Return how the noise that was seen compares with what was stated, if anything was. */
function seen({ noise, noise_p, noise_scale }) {
  const told = noise_scale === null ? "none stated" : `${number(noise_scale)} stated`;
  if (noise === null) return `nothing to compare: no arm was pulled twice (${told})`;
  if (noise_scale === null) return `${number(noise)} seen, which is the estimate: ${told}`;
  return `${number(noise)} seen, ${told}; this much comes by chance ${byChance(noise_p)}`;
}

function findings(check) {
  const { linear_p, voided_p, overdue_p } = check;
  const rows = {
    "Linear in the features":
      linear_p === null
        ? "nothing to compare: with no more arms pulled than features, any averages fit"
        : `averages so far off the model come by chance ${byChance(linear_p)}`,
    "Noise of an arm’s rewards": seen(check),
    "Voided tickets": apart(voided_p, "there are none"),
    "Tickets open for too long": apart(overdue_p, "there are none"),
  };
  return Object.entries(rows).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
}

/** Whether rewards look as supposed, and how far off each arm is. */
export function checkPart(name) {
  const verdict = el("div", {});
  const list = el("dl", { class: "findings" });
  const picture = chart({
    title: "Observed against fitted",
    file: `${name}-check`,
    columns: {
      Arm: (fit) => fit.name,
      Pulls: (fit) => fit.pulls,
      Average: (fit) => fit.average,
      Fitted: (fit) => fit.fitted,
      "Off by": (fit) => fit.z,
    },
    draw: drawFits,
  });
  let before = null;
  return {
    id: "check",
    title: "Model check",
    node: el(
      "div",
      {},
      verdict,
      list,
      picture.node,
      el("details", {}, el("summary", {}, "What these words mean"), glossary("fitted", "off by")),
    ),
    async update({ check, pulls }) {
      const doubtful = check.warnings.length > 0;
      const now = JSON.stringify([check.warnings, check.statement, pulls > 0]);
      if (now !== before) {
        before = now; // so that selections rest
        verdict.replaceChildren(
          ...(doubtful
            ? [
                el(
                  "ul",
                  { class: "warnings" },
                  check.warnings.map((one) => el("li", {}, one)),
                ),
                el("h3", {}, "What to do"),
                el("p", { class: "advice" }, advice(check)),
              ]
            : [el("p", {}, `${check.statement} `, pulls > 0 ? CALM : null)]),
        );
      }
      list.hidden = pulls === 0 && !doubtful;
      list.replaceChildren(...findings(check));
      const far = check.arms.filter((fit) => Math.abs(fit.z) > FAR).length;
      picture.update(
        check.linear_p === null ? [] : check.arms,
        check.linear_p === null
          ? "Nothing to draw: with no more arms pulled than features, any averages fit."
          : `Each dot is an arm: what it paid on average against what the model says. On the line, both agree. ` +
              `${far ? `${many(far, "arm")} ${far === 1 ? "is" : "are"}` : "No arm is"} off by more than noise explains.`,
      );
    },
  };
}

function drawFits(fits, { narrow }) {
  const ends = fits.flatMap((fit) => [fit.average, fit.fitted]);
  const middle = (Math.min(...ends) + Math.max(...ends)) / 2;
  const reach = (Math.max(...ends) - Math.min(...ends)) / 2;
  // Averages that are all the same need some room too.
  const half = reach > 1e-6 * Math.max(1, Math.abs(middle)) ? 1.05 * reach : 0.5;
  const [low, high] = [middle - half, middle + half];
  const worst = fits.slice(0, LABELS).filter((fit) => Math.abs(fit.z) > FAR);
  return {
    height: narrow ? 300 : 380,
    marginLeft: 56,
    marginRight: 24,
    marginBottom: 44,
    x: {
      label: "fitted",
      domain: [low, high],
      labelAnchor: "center",
      labelArrow: "none",
      grid: true,
      nice: true,
      ticks: narrow ? 4 : 7,
    },
    y: {
      label: "average reward",
      domain: [low, high],
      labelArrow: "none",
      grid: true,
      nice: true,
      ticks: 6,
    },
    marks: [
      line(
        [
          [low, low],
          [high, high],
        ],
        { stroke: "var(--soft)", strokeDasharray: "5 4" },
      ),
      dot(fits, {
        x: "fitted",
        y: "average",
        r: (fit) => Math.min(9, 3 + Math.log10(fit.pulls)),
        fill: (fit) => (Math.abs(fit.z) > FAR ? "var(--bad-line)" : "var(--accent)"),
        fillOpacity: 0.75,
        stroke: "var(--panel)",
      }),
      text(worst, {
        x: "fitted",
        y: "average",
        text: (fit) => shortened(fit.name, 30),
        dy: -12,
        fill: "var(--bad)",
      }),
      tip(
        fits,
        pointer({
          x: "fitted",
          y: "average",
          title: (fit) =>
            `${shortened(fit.name, 60)}\naverage ${number(fit.average)} of ${many(fit.pulls, "pull")}, fitted ${number(fit.fitted)}\noff by ${number(fit.z)}`,
        }),
      ),
    ],
    r: { type: "identity" },
  };
}
