"""Markets settled before anybody shares: of the owners, only numbers of records are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from learning.errors import InputError
from learning.phrases import format_value
from scenarios.features.base import Feature, Topic

if TYPE_CHECKING:
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario

# Parts of a result that are computed from records.
ABSENT = (
    "data.filled_cells",
    "data.identical_records",
    "data.persons",
    "errors.measured",
    "forecast.oracle",
    "outside_option.measured",
    "owners[].isolated_relative_fitness",
    "owners[].gains",
    "validation",
)


class SizesAlone(Feature):
    """A market whose table holds the learner's own rows, and no record of an owner."""

    key = "owners.records"
    title = "owners.records"
    example = ("owners.records={A = 9, B = 9}",)
    result = "sizes_alone"
    sentence = "sizes.txt.j2"
    topic = Topic("no records", 1, applies=bool)
    excludes = {
        "owners.report": "because no records are there to report on",
        "time": "because no records are there to charge in a ledger",
        "data.person": "because no row of the table belongs to an owner",
    }

    def is_used(self, scenario: Scenario) -> bool:
        """Test whether owners have no records, but numbers of them."""
        return scenario.owners.records is not None

    def check(self, scenario: Scenario) -> None:
        """Refuse keys that divide a table which holds no owner's rows."""
        data = scenario.data
        told = "must be left out with owners.records: the table holds the learner's rows only"
        for key in ("split", "names", "workers"):
            given = getattr(data, key)
            if given is not None:
                raise InputError(f"data.{key}", told, format_value(given), "Leave it out.")
        if data.holdout:
            rule = "must be 0 with owners.records: data.check_rows keeps back rows of the learner"
            raise InputError("data.holdout", rule, format_value(data.holdout))
        if not data.public_rows:
            rule = "must be above 0 with owners.records: the forecast is made from these rows"
            raise InputError("data.public_rows", rule, 0, "Leave it out to take every row.")

    def check_unused(self, scenario: Scenario) -> None:
        """Refuse owners that are not named in one way, and public rows that leave them none."""
        scenario.data.check_owners()
        if scenario.data.public_rows == "all":
            rule = "must be a number, so that rows remain for the owners"
            raise InputError("data.public_rows", rule, '"all"', "Give one, or owners.records.")

    def warnings(self, run: Run) -> list[dict[str, Any]]:
        """Warn that nothing shows whether the learner's rows are of the owners' kind."""
        if run.scenario.data.order == "shuffled":
            return [{"cause": "kind_assumed"}]
        if run.scenario.data.owner is None:
            return [{"cause": "kind_unknown"}]
        return []

    def facts(self, run: Run, loop: Loop) -> dict[str, Any]:
        """Parts of the result that only records can tell, and that are absent.

        Returns
        -------
        sizes_alone.absent : Under `owners.records`, the parts of this result that only the owners'
            records can tell, each null or left out; sizes_alone is null where records are there.
        """
        return {"absent": list(ABSENT)}
