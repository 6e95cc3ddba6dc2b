"""What the reference tells of the fields of a file, held against a file as it is made."""

from collections.abc import Iterator, Mapping
from typing import Any

from scenarios.reference.results import result_fields


def field_places(
    content: Mapping[str, Any], said: Mapping[str, str], place: str = ""
) -> Iterator[str]:
    """Yield the fields of a file, down to those of which something is said."""
    for name, value in content.items():
        here = f"{place}.{name}".lstrip(".")
        listed = isinstance(value, (list, tuple)) and bool(value) and isinstance(value[0], dict)
        for inner in value if listed else [value]:
            if here in said or not isinstance(inner, dict):
                yield here
            else:
                yield from field_places(inner, said, f"{here}[]" if listed else here)


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
