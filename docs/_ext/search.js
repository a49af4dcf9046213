// Which results of a search come first: pages that explain something, and what has the name that was looked
// for; then methods, fields and options, of which there are many, and pages about the project itself.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 1,
  objPrio: {},
  objPrioDefault: 5,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: ([page, _title, _anchor, about, score, _file, kind]) =>
    score -
    (kind === "object" && !/^Python (class|function|exception|data)/.test(about) ? 13 : 0) -
    (page.startsWith("project/") ? 4 : 0),
};

// Excerpts are fetched, which is not possible from the disk.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
