"""``python -m exchange.flower FOLDER``: write the app that Flower carries to its nodes."""

import sys
from pathlib import Path

from exchange.flower.app import write_app
from learning.errors import InputError

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(f"{__doc__}")
    try:
        folder = write_app(Path(sys.argv[1]))
    except InputError as error:
        print("dpmarket:", error, file=sys.stderr)
        sys.exit(2)
    command = f"flwr run {folder} NAME --stream --run-config 'folder=\"...\"'"
    print(f"The app stands in {folder}. Start it with: {command}")
