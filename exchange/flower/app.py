"""The app that Flower carries to its nodes: a name and two imports of the installed program."""

from __future__ import annotations

from pathlib import Path

from learning.canonical import write_atomically
from learning.errors import InputError, describe_system_error

FLOWER = "1.41.0"  # the version that all of this was tried with
PROJECT = f"""\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "dpmarket-relay"
version = "1.0.0"
description = "Moves the files of a dpmarket exchange."
license = {{ file = "LICENSE" }}
dependencies = ["flwr>=1.41,<1.42"]

[tool.hatch.build.targets.wheel]
packages = ["."]

[tool.flwr.app]
publisher = "dpmarket"
fab-format-version = 1
flwr-version-target = "{FLOWER}"

[tool.flwr.app.components]
serverapp = "learner_side:app"
clientapp = "owner_side:app"

[tool.flwr.app.config]
folder = ""
wait = 20.0
rest = 10.0
farewell = 60.0
"""
SIDE = '''\
"""What is installed here does the work; dpmarket with its extra `federated` must be there."""

from exchange.flower.apps.{side} import app

__all__ = ["app"]
'''
LICENSE = "Apache-2.0, as dpmarket itself: https://www.apache.org/licenses/LICENSE-2.0\n"


def write_app(folder: Path) -> Path:
    """Write the app that ``flwr run`` takes; it is the same for all exchanges.

    Parameters
    ----------
    folder: the folder of the app, made if it is not there; its name must be of letters, digits and
        hyphens.

    Returns
    -------
    The folder.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        found = describe_system_error(error)
        raise InputError(str(folder), "must be a folder that can be made", found) from None
    texts = {"pyproject.toml": PROJECT, "LICENSE": LICENSE}
    texts |= {f"{side}_side.py": SIDE.format(side=side) for side in ("owner", "learner")}
    for name, text in texts.items():
        write_atomically(folder / name, text.encode())
    return folder
