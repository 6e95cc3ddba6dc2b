"""What the reference tells of the fields of a file, held against a file as it is made."""

from scenarios.reference.results import field_places, result_fields


def differing(file, content):
    """Fields that nothing is said of, and fields told of that are not there, nor anything above them."""
    said = result_fields(file)
    found = set(field_places(content, said))
    empty = {place for place in found if place not in said}
    above = {
        place
        for place in said
        if not any(f"{place}.".startswith((f"{one}.", f"{one}[].")) for one in empty)
    }
    gone = {place for place in above if place not in found}
    unsaid = {
        place
        for place in empty
        if not any(one.startswith((f"{place}.", f"{place}[].")) for one in said)
    }
    return unsaid, gone
