// One experiment: who leads, what is proven, how it came about.

import { at } from "./api.js";
import { gapsPart, pullsPart } from "./arms.js";
import { boundPart } from "./bound.js";
import { certificatePart } from "./certificate.js";
import { checkPart } from "./check.js";
import { confidence, count, el, number, ruledOut, shortened } from "./dom.js";
import { follow, pause } from "./live.js";
import { showLog } from "./log.js";
import { effectsPart, timeLeft, valuesPart } from "./values.js";

const POINTS = 300; // of the curve
const QUIET = 60_000; // ms between announcements, unless the leader changes or it is settled

/**
 * Return who leads and what is missing, as texts and names of arms.
 *
 * Once there is a verdict it is the certificate's: later rewards may change who leads.
 */
function headline(status) {
  const { certificate, leader, gap_bound, epsilon } = status;
  if (status.settled) {
    const answer = el("strong", {}, shortened(certificate.name));
    if (!certificate.settled || !certificate.proven) {
      return ["Ended: ", answer, " looks best. What is proven is less than what was asked for."];
    }
    const doubt = status.check.warnings.length
      ? " But the data contradict what that assumes: see the model check."
      : null;
    return ["Settled: ", answer, " is the answer.", doubt].filter((part) => part !== null);
  }
  if (leader === null) return ["No arm leads yet: there are too few rewards to compare arms."];
  const name = el("strong", {}, shortened(status.leader_name));
  if (status.ruled_out !== null) {
    const most = gap_bound === null
      ? ""
      : `; a rival may still be better by up to ${number(gap_bound)}`;
    const rival = el("strong", {}, shortened(status.rival_name));
    return [name, " leads ", rival, `${most}. ${ruledOut(status)} as best.`];
  }
  if (gap_bound === null) {
    return [name, " leads, but nothing is proven yet: there are too few rewards."];
  }
  return [
    name,
    " leads ",
    el("strong", {}, shortened(status.rival_name)),
    `; a rival may still be better by up to ${number(gap_bound)}. ` +
      `To stop, that must fall to ${number(epsilon)}.`,
  ];
}

function beyondDoubt({ settled, certificate, check }) {
  return settled && certificate.settled && certificate.proven && !check.warnings.length;
}

/** The numbers at the top. */
function factsPart() {
  const list = el("dl", { class: "facts" });
  return {
    node: list,
    update(status) {
      const facts = {
        pulls: count(status.pulls),
        pending: count(status.pending),
        overdue: count(status.overdue),
        voided: count(status.voided),
        arms: count(status.arms),
        "accuracy ε": number(status.epsilon),
        confidence: confidence(status.delta),
        ...(status.retired ? { retired: count(status.retired) } : {}),
        ...(status.corrections ? { corrections: count(status.corrections) } : {}),
        ...(status.remaining ? { "still to go": timeLeft(status) } : {}),
      };
      list.replaceChildren(
        ...Object.entries(facts).map(([name, value]) =>
          el("div", {}, el("dt", {}, name), el("dd", {}, value)),
        ),
      );
    },
  };
}

/** Return a function that has screen readers told of what matters, and not of every reward. */
function announcer(page) {
  let told = null;
  let time = 0;
  return (status, sentence) => {
    const what = `${status.settled} ${status.leader}`;
    if (what === told && Date.now() - time < QUIET) return;
    told = what;
    time = Date.now();
    page.announce(sentence);
  };
}

/** Move a part to behind another, once: moving takes the focus from its buttons. */
function raise(node, other) {
  if (node !== other && other.nextElementSibling !== node) other.after(node);
}

export async function showExperiment(page, name) {
  let status = await page.get(at(name));
  const sentence = el("p", { class: "headline" });
  const bound = boundPart();
  const check = checkPart();
  const certificate = certificatePart(name);
  const parts = [factsPart(), bound, gapsPart(), pullsPart(), check, certificate, valuesPart()];
  const [facts, , gaps, pulls, , , values] = parts;
  const effects = effectsPart(page, name);
  const log = showLog(page, name);
  const announce = announcer(page);
  let drawn = null; // what the page shows
  const version = ({ event, overdue }) => `${event} ${overdue}`;

  const draw = async () => {
    sentence.replaceChildren(...headline(status));
    sentence.classList.toggle("good", beyondDoubt(status));
    for (const part of parts) part.update(status);
    // What matters most is up, where it is seen.
    if (status.settled) raise(certificate.node, facts.node);
    if (status.check.warnings.length) raise(check.node, bound.node.previousElementSibling);
    document.title = `${beyondDoubt(status) ? "✓ " : ""}${name} · lingape`;
    announce(status, sentence.textContent);
    await effects.update(status);
    await log.update(status);
    drawn = version(status);
  };
  const refresh = async () => {
    if (bound.length > 3 * POINTS) await reload(); // live points add up: thin them out
    status = await page.get(at(name));
    if (version(status) !== drawn) await draw();
  };
  const reload = async () => {
    const history = await page.get(at(name, `/history?points=${POINTS}`));
    bound.replace(history.points);
    return history.complete; // a long log is replayed a piece at a time
  };
  const catchUp = async () => {
    while (!(await reload())) {
      bound.update(status);
      await pause(500, page.signal);
    }
    bound.update(status);
  };

  const whole = await reload();
  page.show(
    name,
    el("p", { class: "crumb" }, el("a", { href: "#/" }, "All experiments")),
    el("h1", {}, name),
    sentence,
    facts.node,
    bound.node,
    gaps.node,
    values.node,
    effects.node,
    pulls.node,
    check.node,
    certificate.node,
    log.node,
  );
  await draw();
  if (!whole) catchUp().catch(() => {}); // what there is of the curve stays
  await follow(page, at(name, "/stream"), refresh);
}
