// The details of an experiment, part by part: for the tabs of the page, and for reports.
//
// A part is {id, title, node, update(status, signal), applies(status)}; the last is optional and
// says whether there is anything to show.

import { activityPart } from "./activity.js";
import { armsPart } from "./arms.js";
import { certificatePart } from "./certificate.js";
import { checkPart } from "./check.js";
import { effectsPart } from "./effects.js";
import { progressPart } from "./progress.js";

/** Return the parts with details, in their order; `source(what, query)` answers what they ask. */
export function details(source, name, { files }) {
  return [
    armsPart(source, name),
    effectsPart(source, name),
    progressPart(source, name),
    activityPart(source, name),
    checkPart(name),
    certificatePart(name, { files }),
  ];
}
