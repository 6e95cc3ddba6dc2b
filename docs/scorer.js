// Order of what the search finds: the pages before the docstrings, and these before what only records the past.
var Scorer = {
  score: ([page, , , , score]) =>
    score - (/^docs\/api\//.test(page) ? 4 : 0) - (/CHANGELOG|CONTRIBUTING|reproduction$|sentences$/.test(page) ? 3 : 0),
  objNameMatch: 6, objPartialMatch: 2, objPrio: { 0: 0, 1: 0, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
