"""The owner's program by itself: the wheel holds what it imports, and three such nodes carry a signed exchange."""

import ast
import os
import shutil
import subprocess
import sys
import venv
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from exchanges import key_of, signed_contract, table

from exchange.folder import MODEL, acceptance_name
from learning.canonical import encode_canonical
from learning.privacy.registry import VARIABLE

ROOT = Path(__file__).parents[2]
NODE = ROOT / "packaging" / "owner"
LEARNER = [sys.executable, "-P", "-m", "scenarios.command.main"]
LATEST = 240.0  # seconds after which an exchange is given up
# Cells of a private row that stand nowhere else, recognised by their first six characters, as rounded.
TOLD_TALES = {"age": "ZEBRA4711", "income": "98765.4321", "kind": "QUAGGA815", "claims": "4.567891"}


def module_of(name):
    spec = spec_from_file_location(name, NODE / f"{name}.py")
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture(scope="module")
def assemble_owner():
    return module_of("assemble_owner")


def test_the_wheel_holds_all_that_its_files_import_and_no_simulator(assemble_owner, tmp_path):
    assemble_owner.assemble(tmp_path)
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.py")}
    assert {"exchange/command/owner.py", "learning/privacy/release.py"} <= files
    assert {name.split("/")[0] for name in files} == {"exchange", "learning"}
    assert not any("learner" in name or "training" in name for name in files)
    for name in files:
        for node in ast.walk(ast.parse((tmp_path / name).read_text())):
            if isinstance(node, ast.ImportFrom) and node.module.startswith(
                ("exchange", "learning")
            ):
                place = node.module.replace(".", "/")
                assert files & {f"{place}.py", f"{place}/__init__.py"}, (name, node.module)


def test_the_node_stays_small_and_says_what_its_libraries_are_for(assemble_owner):
    files, libraries = assemble_owner.find_closure()
    assert sum(len(file.read_text().splitlines()) for file in files) < 9_380
    assert libraries | {"dpmarket-owner"} == module_of("wheels").PURPOSES.keys()
    assert assemble_owner.find_requirements(libraries).keys() == libraries


def test_wheels_are_pinned_and_listed_by_what_they_say_of_themselves(tmp_path):
    import zipfile

    name = tmp_path / "some_thing-1.2-py3-none-any.whl"
    about = "Name: Some.Thing\nVersion: 1.2\nLicense-Expression: MIT\nRequires-Dist: numpy>=1\n"
    with zipfile.ZipFile(name, "w") as archive:
        archive.writestr("some_thing-1.2.dist-info/METADATA", about)
    wheels = module_of("wheels")
    digest = subprocess.run(
        ["sha256sum", name], capture_output=True, text=True, check=True
    ).stdout.split()[0]
    assert wheels.pin([name]) == f"some-thing==1.2 --hash=sha256:{digest}"
    assert "| some-thing | 1.2 | MIT | needed by nothing |" in wheels.trust([name])


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    """The program in an environment with nothing else."""
    folder = tmp_path_factory.mktemp("node")
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", NODE]
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode and "No matching distribution" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    return folder / "env" / "bin" / "dpmarket-owner"


@pytest.mark.exchange
def test_three_installed_nodes_carry_a_signed_exchange_and_tell_no_value_of_a_record(
    node, tmp_path
):
    contract = signed_contract(2)
    shared = tmp_path / "shared"
    shared.mkdir()
    agreed = tmp_path / "contract.json"
    agreed.write_bytes(contract.raw)
    home = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def start(party, words, program):
        place = tmp_path / party
        with (place / "log").open("ab") as log:
            return subprocess.Popen(
                [*program, *words],
                stdout=log,
                stderr=log,
                cwd=ROOT if program is LEARNER else place,
                env=home | {VARIABLE: str(place / "registry")},
            )

    def own(party):
        place = tmp_path / party
        return [f"--owner={party}", f"--ledger={place / 'ledger'}", f"--key={place / 'key'}"]

    for party in ("learner", *contract.names):
        (tmp_path / party).mkdir()
        content = {"format": "dpmarket key 1", "secret": key_of(party).secret.hex()}
        (tmp_path / party / "key").write_bytes(encode_canonical(content))
        (tmp_path / party / "key").chmod(0o600)
    running = []
    for name in contract.names:
        lines = table(contract, name).splitlines()
        lines[3] = ",".join(TOLD_TALES[column] for column in lines[0].split(","))
        data = tmp_path / name / "own.csv"
        data.write_text("\n".join(lines) + "\n")
        words = ["accept", str(agreed), *own(name), f"--data={data}", "--max-epsilon=4"]
        words.append(f"--out={shared / acceptance_name(name)}")
        assert start(name, words, [node]).wait(LATEST) == 0
    try:
        for name in contract.names:
            follow = [str(agreed), str(shared), f"--data={tmp_path / name / 'own.csv'}", "--follow"]
            running.append(start(name, ["answer", *follow, *own(name)], [node]))
        key = f"--key={tmp_path / 'learner' / 'key'}"
        collect = ["collect", str(agreed), str(shared), "--follow", key]
        running.append(start("learner", collect, LEARNER))
        assert [program.wait(LATEST) for program in running] == [0] * 4
    finally:
        for program in running:
            program.kill()
    states = []
    for name in contract.names:
        out = shared / f"{name}.statement.json"
        assert start(name, ["state", str(agreed), *own(name), f"--out={out}"], [node]).wait() == 0
        states.append(f"--statement={out}")
    settle = ["settle", str(agreed), str(shared), key, *states]
    assert start("learner", settle, LEARNER).wait(LATEST) == 0
    assert (shared / MODEL).exists()
    told = [*shared.rglob("*"), *(tmp_path / name / "log" for name in contract.names)]
    texts = {path: path.read_text(errors="replace") for path in told if path.is_file()}
    assert "unreadable cells" in texts[tmp_path / "Alpha" / "log"]  # it did read the planted row
    for path, text in texts.items():
        assert not [value for value in TOLD_TALES.values() if value[:6] in text], path
    assert not shutil.which("dpmarket", path=str(node.parent))
