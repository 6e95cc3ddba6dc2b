"""What the commands write, and where: nobody's file is lost, a bad place is refused before the run, and in one line."""

import json
import os
import subprocess
import sys

import pytest
from result_folders import result

from scenarios.output.manifest import write_manifest
from scenarios.output.places import check_folder
from scenarios.result import FILES, Result

SEED = 40  # of three_insurers


@pytest.fixture
def quick(monkeypatch):
    """Runs come to a made-up result at once, with a stand-in for the report; counts how many were begun."""
    begun = []

    def run(scenario, **options):
        begun.append(scenario)
        return Result(result(seed=scenario.seed), scenario_toml=f"seed = {scenario.seed}\n")

    def report(folder, **options):
        (folder / "figures").mkdir()
        (folder / "figures" / "forecast.svg").write_text("<svg>")
        (folder / "report.html").write_text("<p>")

    monkeypatch.setattr("scenarios.runner.run", run)
    monkeypatch.setattr("scenarios.report.page.write_report", report)
    return begun


@pytest.fixture
def refused(dpmarket, write, quick, tmp_path):
    """Calls run with an --out and options; it must be refused before anything is run, in one line that says the words."""

    def call(out, *words, options=()):
        before = sorted(str(path) for path in tmp_path.rglob("*"))
        status, printed, err = dpmarket("run", "three_insurers", "--out", out, *options)
        assert (
            status == 2
            and printed == ""
            and err.count("\n") == 1
            and err.startswith("dpmarket: --out: ")
        )
        assert not quick and sorted(str(path) for path in tmp_path.rglob("*")) == before
        for word in words:
            assert word in err, f"{word!r} not in {err!r}"

    return call


def seed_of(folder):
    return json.loads((folder / "result.json").read_text())["seed"]


# Other people's files


@pytest.mark.parametrize(
    "stray", ["{}", '{"schema": 1}', "[]", "no json", '{"schema": 1, "files": {"thesis.txt": ""}}']
)
def test_a_stray_result_json_makes_no_result_of_a_folder(refused, tmp_path, stray):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "result.json").write_text(stray)
    (tmp_path / "p" / "thesis.txt").write_text("years of work")
    refused("p", "result.json", "thesis.txt")
    refused("p", "result.json", options=["--force"])  # it would be written over, and is not ours


def test_a_manifest_of_other_files_is_not_believed(refused, tmp_path):
    """A marker that lists what it never wrote: the sums tell."""
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "thesis.txt").write_text("years of work")
    (tmp_path / "p" / "manifest.json").write_text(
        '{"program": "dpmarket", "files": {"thesis.txt": "00"}}'
    )
    refused("p", "thesis.txt")


def test_the_folder_one_stands_in_is_refused(refused, tmp_path, monkeypatch):
    refused(".")
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    refused("..")
    refused("..", options=["--force"])


def test_a_memo_laid_beside_a_result_is_kept(dpmarket, quick, tmp_path):
    assert dpmarket("run", "three_insurers", "--out", "r")[0] == 0
    (tmp_path / "r" / "memo.txt").write_text("read this")
    (tmp_path / "r" / "figures" / "mine.svg").write_text("<svg/>")
    (tmp_path / "r" / "notes" / "deep").mkdir(parents=True)
    (tmp_path / "r" / "notes" / "deep" / "one.txt").write_text("1")
    (tmp_path / "r" / "link").symlink_to("memo.txt")
    quick.clear()
    status, out, err = dpmarket("run", "three_insurers", "--out", "r", "--seed", "7")
    assert status == 2 and err.count("\n") == 1 and not quick
    assert (
        "figures/mine.svg, link, memo.txt and 1 more" in err
        and "--force" in err
        and seed_of(tmp_path / "r") == SEED
    )
    assert dpmarket("run", "three_insurers", "--out", "r", "--seed", "7", "--force")[0] == 0
    assert seed_of(tmp_path / "r") == 7
    assert (tmp_path / "r" / "memo.txt").read_text() == "read this"
    assert (tmp_path / "r" / "figures" / "mine.svg").read_text() == "<svg/>"
    assert (tmp_path / "r" / "notes" / "deep" / "one.txt").read_text() == "1"
    assert os.readlink(tmp_path / "r" / "link") == "memo.txt"
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_a_file_of_the_result_that_was_edited_is_kept_unless_forced(dpmarket, quick, tmp_path):
    dpmarket("run", "three_insurers", "--out", "r")
    (tmp_path / "r" / "report.html").write_text("<p>with my remarks")
    status, _, err = dpmarket("run", "three_insurers", "--out", "r", "--seed", "7")
    assert status == 2 and "report.html" in err
    assert (tmp_path / "r" / "report.html").read_text() == "<p>with my remarks"
    assert dpmarket("run", "three_insurers", "--out", "r", "--seed", "7", "--force")[0] == 0
    assert seed_of(tmp_path / "r") == 7 and (tmp_path / "r" / "report.html").read_text() == "<p>"


def test_results_of_earlier_versions_are_replaced_where_nothing_else_lies_beside_them(
    dpmarket, quick, tmp_path
):
    dpmarket("run", "three_insurers", "--out", "r")
    (tmp_path / "r" / "manifest.json").unlink()
    assert (
        dpmarket("run", "three_insurers", "--out", "r", "--seed", "7")[0] == 0
        and seed_of(tmp_path / "r") == 7
    )
    (tmp_path / "r" / "manifest.json").unlink()
    (tmp_path / "r" / "memo.txt").write_text("read this")
    assert dpmarket("run", "three_insurers", "--out", "r")[0] == 2
    assert dpmarket("run", "three_insurers", "--out", "r", "--force")[0] == 0
    assert (
        seed_of(tmp_path / "r") == SEED and (tmp_path / "r" / "memo.txt").read_text() == "read this"
    )


def test_a_link_stays_a_link(dpmarket, quick, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    for seed in ("3", "4"):
        assert dpmarket("run", "three_insurers", "--out", "link", "--seed", seed)[0] == 0
        assert (tmp_path / "link").is_symlink() and seed_of(tmp_path / "there") == int(seed)


def test_what_a_desktop_lays_into_a_folder_is_no_reason_to_refuse(dpmarket, quick, tmp_path):
    dpmarket("run", "three_insurers", "--out", "r")
    (tmp_path / "r" / ".DS_Store").write_text("")
    assert (
        dpmarket("run", "three_insurers", "--out", "r")[0] == 0
        and (tmp_path / "r" / ".DS_Store").exists()
    )


def test_changed_runs_do_not_land_on_the_plain_runs_folder(dpmarket, quick, tmp_path):
    said = [
        dpmarket("run", "three_insurers", *changes)[1].splitlines()[-1]
        for changes in (
            [],
            ["--set", "policy.budget=500"],
            ["--set", "policy.budget=500", "--seed", "3"],
            ["--set", "owners.epsilon=[0.1, 2.0]"],
            ["--set", "owners.epsilon=[0.1, 3.0]"],
        )
    ]
    names = {path.name for path in (tmp_path / "results").iterdir()}
    assert (
        len(names) == 5
        and "three_insurers" in names
        and "three_insurers,policy.budget=500,seed=3" in names
    )
    assert seed_of(tmp_path / "results" / "three_insurers") == SEED
    assert {line.split("/")[1] for line in said} == names  # and each is named


# Places where nothing can be written


def test_bad_places_are_refused_before_the_run(refused, tmp_path):
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "a_file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    refused("dangling", "link")
    refused("dangling/r", "link")
    refused("loop", "link")
    refused("x" * 300, "too long")
    refused("new/" + "x" * 300, "too long")
    refused("d/" * 2100 + "r", "too long")
    refused("a_file", "a_file")
    refused("a_file/r", "a_file")
    refused("pipe", "pipe")
    refused("x/../y", "x/../y")
    refused("/proc/r", "/proc/r")
    refused("/", "/")


def test_a_name_of_250_characters_is_none_too_long(dpmarket, quick, tmp_path):
    assert dpmarket("run", "three_insurers", "--out", "x" * 250)[0] == 0
    assert seed_of(tmp_path / ("x" * 250)) == SEED


def test_a_current_folder_that_was_deleted(dpmarket, quick, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    status, _, err = dpmarket("run", "three_insurers", "--out", "r")
    assert (
        status == 2
        and err.count("\n") == 1
        and "the current folder: must exist" in err
        and not quick
    )


@pytest.fixture
def no_comparison(monkeypatch):
    def compute(*arguments, **options):
        raise AssertionError("computed before --out was looked at")

    monkeypatch.setattr("market.procurement.spending.at_budget", compute)


@pytest.mark.parametrize(
    "out", ["a_folder", "dangling", "thesis.txt", "none/t.csv", "x" * 300, "pipe", "a_file/t.csv"]
)
def test_mechanisms_looks_at_its_file_first_and_spares_others(
    dpmarket, no_comparison, tmp_path, out
):
    (tmp_path / "a_folder").mkdir()
    (tmp_path / "a_file").write_text("x")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "thesis.txt").write_text("years of work")
    os.mkfifo(tmp_path / "pipe")
    status, printed, err = dpmarket("mechanisms", "--out", out)
    assert (
        status == 2
        and printed == ""
        and err.count("\n") == 1
        and err.startswith("dpmarket: --out: ")
    )
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_mechanisms_replaces_its_own_table(dpmarket, tmp_path):
    arguments = (
        "mechanisms",
        "--only",
        "proportional",
        "--markets",
        "1",
        "--owners",
        "2",
        "--out",
        "t.csv",
    )
    assert dpmarket(*arguments)[0] == 0
    first = (tmp_path / "t.csv").read_bytes()
    assert dpmarket(*arguments)[0] == 0 and (tmp_path / "t.csv").read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize(
    "name, text", [("calibration.csv", "my,own\n1,2"), ("calibration.svg", "<svg>mine")]
)
def test_reproduce_looks_at_its_folder_first_and_spares_others(
    dpmarket, tmp_path, monkeypatch, name, text
):
    def compute(*arguments):
        raise AssertionError("computed before --out was looked at")

    monkeypatch.setattr(
        "reproduction.items.STUDIES", dict.fromkeys(("protocol", "calibration"), compute)
    )
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / name).write_text(text)
    for out in ("o", f"o/{name}", "x" * 300):
        status, _, err = dpmarket("reproduce", "protocol", "calibration", "--out", out)
        assert status == 2 and err.count("\n") == 1 and "--out" in err
    assert (tmp_path / "o" / name).read_text() == text


# Damaged results


def good(folder):
    from result_folders import write

    return write(folder, result())


def spoil(name, text):
    return lambda folder: (folder / name).write_text(text)


def in_the_way(name):
    def lay(folder):
        (folder / name).mkdir()
        (folder / name / "thesis.txt").write_text("years of work")

    return lay


DAMAGED = {
    "a list": spoil("result.json", "[]"),
    "a text": spoil("result.json", '"a"'),
    "a number": spoil("result.json", "1"),
    "only a schema": spoil("result.json", '{"schema": 1}'),
    "schema list": spoil("result.json", '{"schema": [1]}'),
    "deep": spoil("result.json", "[" * 100_000 + "]" * 100_000),
    "no owners": spoil("result.json", json.dumps(result(owners=[]))),
    "owners text": spoil("result.json", json.dumps(result() | {"owners": "all"})),
    "no title": spoil(
        "result.json", json.dumps({k: v for k, v in result().items() if k != "title"})
    ),
    "binary": lambda folder: (folder / "result.json").write_bytes(b"\xff\xfe\x00"),
    "empty trajectory": spoil("trajectory.csv", ""),
    "other columns": spoil("trajectory.csv", "a,b\n1,2\n"),
    "figures a file": spoil("figures", ""),
    "report a folder": in_the_way("report.html"),
    "no folder": lambda folder: None,
    "a pipe": lambda folder: ((folder / "result.json").unlink(), os.mkfifo(folder / "result.json")),
    "a name too long": lambda folder: folder.rename(folder.with_name("q")),
}


@pytest.mark.in_full  # with figures
@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_result_is_one_line(dpmarket, tmp_path, damage):
    folder = tmp_path / "r" if damage == "no folder" else good(tmp_path / "r")
    DAMAGED[damage](folder)
    status, printed, err = dpmarket("report", "r" * 300 if damage == "a name too long" else "r")
    assert status == 2 and printed == "" and err.count("\n") == 1 and err.startswith("dpmarket: r")
    assert not list(tmp_path.rglob(".dpmarket*"))


def test_a_report_written_again_is_still_ours(dpmarket, tmp_path):
    folder = good(tmp_path / "r")
    (folder / "report.html").write_text("an older page")
    write_manifest(folder)
    assert dpmarket("report", "r") == (0, "r/report.html\n", "")
    assert (folder / "report.html").read_text() != "an older page"
    assert check_folder(folder, FILES) == folder


# Standard output that takes nothing


def printing(arguments, folder, standard_output):
    """(status, standard error) of a command in a process of its own."""
    command = [sys.executable, "-c", "from scenarios.command.main import main; main()", *arguments]
    found = subprocess.run(
        command, stdout=standard_output, stderr=subprocess.PIPE, text=True, cwd=folder
    )
    return found.returncode, found.stderr


@pytest.mark.parametrize(
    "arguments", [("--help",), pytest.param(("report", "r"), marks=pytest.mark.deep)], ids=" ".join
)
def test_a_full_standard_output_is_one_line(tmp_path, arguments):
    good(tmp_path / "r")
    with open("/dev/full", "w") as full:
        status, err = printing(arguments, tmp_path, full)
    assert (
        status == 2 and err.count("\n") == 1 and "standard output" in err and "No space left" in err
    )


def test_a_standard_output_that_nobody_reads_ends_the_command_without_a_word(tmp_path):
    read, written = os.pipe()
    os.close(read)
    assert printing(["--help"], tmp_path, written) == (1, "")
    os.close(written)
