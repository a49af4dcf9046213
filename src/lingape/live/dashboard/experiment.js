// One experiment: who leads, what is proven, how it came about.

import { at, download } from "./api.js";
import { bar, gapScale, intervalAxis, intervalPicture, marginChart } from "./charts.js";
import { armName, confidence, count, el, many, number, say, shortened } from "./dom.js";
import { showLog } from "./log.js";
import { follow, pause } from "./live.js";

const SHOWN = 30; // arms in a table
const POINTS = 300; // of the curve
const CALM =
  "No warning: the rewards do not contradict the linear model and the stated noise. That is no " +
  "proof of them.";
const QUIET = 60_000; // ms between announcements, unless the leader changes or it is settled

/**
 * Return who leads and what is missing, as texts and names of arms.
 *
 * Once there is a verdict it is the certificate's: later rewards may change who leads.
 */
function headline(status, certificate) {
  const { leader, rival, margin, epsilon } = status;
  if (status.settled) {
    const answer = el("strong", {}, shortened(certificate.name));
    return certificate.settled && certificate.proven
      ? ["Settled: ", answer, " is the answer."]
      : ["Ended: ", answer, " looks best. What is proven is less than what was asked for."];
  }
  if (leader === null) return ["No arm leads yet: there are too few rewards to compare arms."];
  const name = el("strong", {}, shortened(leader.name));
  if (!Number.isFinite(margin) || rival === null) {
    return [name, " leads, but nothing is proven yet: there are too few rewards."];
  }
  return [
    name,
    " leads ",
    el("strong", {}, shortened(rival.name)),
    `; a rival may still be better by up to ${number(Math.max(margin, 0))}. ` +
      `To stop, that must fall to ${number(epsilon)}.`,
  ];
}

function section(id, title, ...content) {
  return el(
    "section",
    { class: "panel", id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title),
    ...content,
  );
}

function columns(...names) {
  return el(
    "thead",
    { role: "rowgroup" },
    el(
      "tr",
      { role: "row" },
      ...names.map((name) => el("th", { scope: "col", role: "columnheader" }, name)),
    ),
  );
}

const cell = (name, ...content) => el("td", { role: "cell", class: name }, ...content);

/** The numbers at the top. */
function factsPart() {
  const list = el("dl", { class: "facts" });
  return {
    node: list,
    update(status) {
      const facts = {
        pulls: count(status.pulls),
        "open tickets": count(status.open_tickets),
        arms: count(status.arms_total),
        "accuracy ε": number(status.epsilon),
        confidence: confidence(status.delta),
      };
      list.replaceChildren(
        ...Object.entries(facts).map(([name, value]) =>
          el("div", {}, el("dt", {}, name), el("dd", {}, value)),
        ),
      );
    },
  };
}

/** B(t) falling to ε, as a picture and as a table. */
function marginPart() {
  const frame = el("div", { class: "frame" });
  const caption = el("figcaption", {});
  const toggle = el("input", { type: "checkbox", id: "logarithmic" });
  const choice = el(
    "p",
    { class: "choice" },
    toggle,
    " ",
    el("label", { for: "logarithmic" }, "Logarithmic scale"),
  );
  const body = el("tbody", {});
  const table = el(
    "table",
    { class: "plain" },
    el("caption", {}, "By how much a rival may still be better, after so many pulls"),
    columns("Pulls", "At most", "Leader"),
    body,
  );
  const details = el("details", {}, el("summary", {}, "The curve as a table"), table);
  let points = [];
  let status = null;
  let chosen = false; // the scale, by whoever looks

  const draw = () => {
    if (status === null) return;
    const known = points.filter((point) => Number.isFinite(point.margin));
    say(caption, describe(known, status));
    choice.hidden = details.hidden = !known.length;
    if (!known.length) {
      frame.replaceChildren(el("p", { class: "note" }, "No curve yet: nothing is proven so far."));
      return;
    }
    if (!chosen) toggle.checked = status.epsilon > 0;
    frame.replaceChildren(
      marginChart(known, status.epsilon, {
        width: Math.max(frame.clientWidth, 240),
        logarithmic: toggle.checked && known.some((point) => point.margin > 0),
        title: "By how much a rival may still be better, over the pulls",
        description: `${describe(known, status)} The numbers are in the table below.`,
      }),
    );
    if (details.open) fill(body, known, status);
  };
  toggle.addEventListener("change", () => {
    chosen = true;
    draw();
  });
  details.addEventListener("toggle", draw);
  new ResizeObserver(() => {
    if (frame.firstChild?.clientWidth !== frame.clientWidth) draw();
  }).observe(frame);

  return {
    node: section(
      "margin",
      "How far from proven",
      el("figure", {}, frame, caption),
      choice,
      details,
    ),
    replace(history) {
      points = history;
    },
    update(now) {
      status = now;
      // The history was loaded once; since then each status adds a point.
      const last = points.at(-1);
      if (Number.isFinite(now.margin) && !(last?.pulls >= now.pulls)) {
        points.push({ pulls: now.pulls, margin: now.margin, leader: now.leader?.name });
      }
      draw();
    },
    get length() {
      return points.length;
    },
  };
}

function describe(points, status) {
  if (!points.length) return "";
  const first = points[0];
  const last = points.at(-1);
  const goal = `ε = ${number(status.epsilon)}`;
  return (
    `B(t), by how much a rival may still be better: ${number(first.margin)} after ` +
    `${many(first.pulls, "pull")}, ${number(last.margin)} after ${many(last.pulls, "pull")}, ` +
    (status.settled ? "and it is settled." : `and has to fall to ${goal}.`)
  );
}

/** Write at most 20 points, the last among them. */
function fill(body, points, status) {
  const step = Math.max(1, Math.ceil(points.length / 20));
  const some = points.filter((_, i) => (points.length - 1 - i) % step === 0);
  const name = (leader) => {
    if (leader !== null && typeof leader === "object") return leader.name;
    if (typeof leader === "number") return armName(status, leader);
    return leader ?? "–";
  };
  body.replaceChildren(
    ...some.map((point) =>
      el(
        "tr",
        {},
        el("td", {}, count(point.pulls)),
        el("td", {}, number(point.margin)),
        el("td", {}, shortened(name(point.leader))),
      ),
    ),
  );
}

function nameCell(arm, status) {
  const role =
    arm.arm === status.leader?.arm ? "leader" : arm.arm === status.rival?.arm ? "rival" : null;
  return el(
    "th",
    { scope: "row", role: "rowheader" },
    shortened(arm.name),
    role === null ? null : " ",
    role === null ? null : el("span", { class: `tag ${role}` }, role),
  );
}

/** Each arm's interval against the leader. */
function gapsPart() {
  const head = el("th", { scope: "col", role: "columnheader", class: "picture" });
  const body = el("tbody", { role: "rowgroup" });
  const note = el("p", { class: "note" });
  const table = el(
    "table",
    { class: "gaps", role: "table" },
    el("caption", {}, "Reward compared with the leader's: at least, estimated, at most"),
    el(
      "thead",
      { role: "rowgroup" },
      el(
        "tr",
        { role: "row" },
        el("th", { scope: "col", role: "columnheader" }, "Arm"),
        el("th", { scope: "col", role: "columnheader" }, "Estimate (from, to)"),
        head,
      ),
    ),
    body,
  );
  return {
    node: section("gaps", "Arms against the leader", table, note),
    update(status, { proven }) {
      const known = status.arms.filter((arm) => Number.isFinite(arm.high));
      table.hidden = !known.length;
      if (!known.length) {
        say(note, "No intervals yet: there are too few rewards to compare arms.");
        return;
      }
      const leads = (arm) => arm.arm === status.leader?.arm;
      const shown = [...known.filter(leads), ...known.filter((arm) => !leads(arm))].slice(0, SHOWN);
      const scale = gapScale(shown, status.epsilon);
      const { exact } = scale;
      head.replaceChildren(el("span", { class: "hidden" }, "Picture"), intervalAxis(scale));
      body.replaceChildren(
        ...shown.map((arm) =>
          el(
            "tr",
            { role: "row" },
            nameCell(arm, status),
            cell(
              "numbers",
              leads(arm) ? "–" : `${exact(arm.mean)} (${exact(arm.low)}, ${exact(arm.high)})`,
            ),
            cell("picture", intervalPicture(arm, status.epsilon, scale)),
          ),
        ),
      );
      const rest = status.arms_total - shown.length;
      const most = status.arms.find((arm) => !shown.includes(arm))?.high;
      const limit = Number.isFinite(most)
        ? most > 0
          ? `; none of them is better than the leader by more than ${number(most)}`
          : `; all of them are worse than the leader by at least ${number(-most)}`
        : "";
      const others =
        `Shown are the ${count(shown.length)} arms that may be best. ` +
        `${count(rest)} more are not shown${limit}. `;
      const share = confidence(status.delta);
      const sure = `All upper ends hold at once with probability at least ${share}. `;
      const end = status.epsilon > 0 ? "ε, the dashed line" : "0, the leader's line";
      say(
        note,
        `${rest > 0 ? others : ""}${proven ? sure : "They are rules of thumb. "}` +
          `To stop, none may reach beyond ${end}.`,
      );
    },
  };
}

/** Rewards and open tickets of each arm. */
function pullsPart() {
  const body = el("tbody", { role: "rowgroup" });
  const note = el("p", { class: "note" });
  const table = el(
    "table",
    { class: "pulls", role: "table" },
    el("caption", {}, "Rewards so far, and tickets whose reward is awaited"),
    columns("Arm", "Pulls", "Open", "Picture"),
    body,
  );
  table.querySelector("th:last-child").replaceChildren(el("span", { class: "hidden" }, "Picture"));
  return {
    node: section("pulls", "Pulls", table, note),
    update(status) {
      const order = [...status.arms].sort(
        (one, other) => other.pulls + other.open - one.pulls - one.open || one.arm - other.arm,
      );
      const shown = order.slice(0, SHOWN);
      const most = Math.max(...shown.map((arm) => arm.pulls + arm.open), 1);
      body.replaceChildren(
        ...shown.map((arm) =>
          el(
            "tr",
            { role: "row" },
            nameCell(arm, status),
            cell("numbers", count(arm.pulls)),
            cell("numbers", count(arm.open)),
            cell("picture", bar(arm.pulls, arm.open, most)),
          ),
        ),
      );
      const rest = status.arms_total - shown.length;
      const pulls = status.pulls - shown.reduce((sum, arm) => sum + arm.pulls, 0);
      const open = status.open_tickets - shown.reduce((sum, arm) => sum + arm.open, 0);
      say(
        note,
        rest > 0
          ? `${many(rest, "more arm")}, with ${many(pulls, "pull")} and ` +
              `${many(open, "open ticket")}, ${rest === 1 ? "is" : "are"} not shown.`
          : "",
      );
    },
  };
}

/** Whether rewards look as supposed. */
function checkPart() {
  const body = el("div", {});
  const node = section("check", "Model check", body);
  let before = null;
  return {
    node,
    update({ warnings, pulls }) {
      const now = JSON.stringify([warnings, pulls > 0]);
      if (now === before) return;
      before = now;
      node.classList.toggle("bad", warnings.length > 0);
      body.replaceChildren(
        warnings.length
          ? el("ul", { class: "warnings" }, ...warnings.map((text) => el("li", {}, text)))
          : el("p", { class: "note" }, pulls > 0 ? CALM : "There are no rewards to look at yet."),
      );
    },
  };
}

function promise({ epsilon }) {
  return epsilon > 0
    ? `the best arm is at most ${number(epsilon)} better than the answer`
    : "no arm is better than the answer";
}

/** What is proven and what that rests on. */
function certificatePart(name) {
  const body = el("div", {});
  const node = section("certificate", "Certificate", body);
  const title = node.querySelector("h2");
  return {
    node,
    update(certificate, settled) {
      const good = certificate.settled && certificate.proven;
      node.classList.toggle("good", settled && good);
      node.classList.toggle("bad", !certificate.proven || (settled && !good));
      say(title, settled ? "Certificate" : "Certificate, not yet");
      const claim = settled || !certificate.proven
        ? certificate.statement.split("\n")[0]
        : `Once settled, it will say: ${promise(certificate)}, with probability at least ` +
          `${confidence(certificate.delta)}.`;
      const digest = certificate.digest ?? certificate.hash;
      body.replaceChildren(
        el("p", { class: "claim" }, claim),
        el("p", {}, "Provided that:"),
        el("ul", {}, ...certificate.assumptions.map((text) => el("li", {}, text))),
        el(
          "p",
          { class: "note" },
          `By the bound ${certificate.bound}.`,
          settled && digest
            ? ` Log up to event ${certificate.event ?? certificate.sequence}, SHA-256 `
            : null,
          settled && digest ? el("code", { class: "digest" }, digest) : null,
          settled && digest ? ". Keep it: a log that is rewritten has another." : null,
        ),
        el(
          "p",
          { class: "buttons" },
          saver("Save the certificate", at(name, "/certificate"), `${name}-certificate.json`),
          saver("Save the log", at(name, "/export"), `${name}.jsonl`),
        ),
      );
    },
  };
}

/** Return a button that saves a file. A link could not send the token. */
function saver(label, path, file) {
  const button = el("button", { type: "button" }, label);
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const link = el("a", { href: URL.createObjectURL(await download(path)), download: file });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
      button.textContent = label;
    } catch (trouble) {
      button.textContent = `${label} (failed: ${trouble.message})`;
    }
    button.disabled = false;
  });
  return button;
}

/** Return a function that has screen readers told of what matters, and not of every reward. */
function announcer(page) {
  let told = null;
  let time = 0;
  return (status, sentence) => {
    const what = `${status.settled} ${status.leader?.arm}`;
    if (what === told && Date.now() - time < QUIET) return;
    told = what;
    time = Date.now();
    page.announce(sentence);
  };
}

export async function showExperiment(page, name) {
  let status = await page.get(at(name));
  const sentence = el("p", { class: "headline" });
  const parts = {
    facts: factsPart(),
    margin: marginPart(),
    gaps: gapsPart(),
    pulls: pullsPart(),
  };
  const check = checkPart();
  const certificate = certificatePart(name);
  const log = showLog(page, name);
  const announce = announcer(page);
  let proof = null;
  let verdict = null; // whether `proof` is for good
  let drawn = -1; // the event up to which the page is drawn

  const draw = async () => {
    if (verdict !== status.settled) {
      const { settled } = status;
      proof = await page.get(at(name, "/certificate"));
      verdict = settled;
      certificate.update(proof, settled);
      if (settled) parts.facts.node.after(certificate.node); // up, where it is seen
    }
    sentence.replaceChildren(...headline(status, proof));
    sentence.classList.toggle("good", status.settled && proof.settled && proof.proven);
    for (const part of Object.values(parts)) part.update(status, proof);
    check.update(status);
    if (status.warnings.length) parts.margin.node.before(check.node);
    document.title = `${status.settled ? "✓ " : ""}${name} · lingape`;
    announce(status, sentence.textContent);
    await log.update(status);
    drawn = status.sequence;
  };
  const refresh = async () => {
    if (parts.margin.length > 3 * POINTS) await reload(); // live points add up: thin them out
    status = await page.get(at(name));
    if (status.sequence !== drawn) await draw();
  };
  const reload = async () => {
    const history = await page.get(at(name, `/history?points=${POINTS}`));
    parts.margin.replace(history.points);
    return history.complete !== false; // a long log is replayed a piece at a time
  };
  const catchUp = async () => {
    while (!(await reload())) {
      parts.margin.update(status);
      await pause(500, page.signal);
    }
    parts.margin.update(status);
  };

  const whole = await reload();
  page.show(
    name,
    el("p", { class: "crumb" }, el("a", { href: "#/" }, "All experiments")),
    el("h1", {}, name),
    sentence,
    parts.facts.node,
    parts.margin.node,
    el("div", { class: "pair" }, parts.gaps.node, parts.pulls.node),
    check.node,
    certificate.node,
    log.node,
  );
  await draw();
  if (!whole) catchUp().catch(() => {}); // what there is of the curve stays
  await follow(page, at(name, "/stream"), refresh);
}
