import json
import os
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from firstlight import __version__, catalogue
from firstlight.cli.root import app

CLAIMS = """
    from firstlight.evidence import Budget, Measurement, claim

    @claim("three sevenths of [a] number", source="ours")
    def sevenths(budget: Budget) -> Measurement:
        error = abs(3 / 7 * 7 - 3) / 3
        return Measurement("relative error", error, bar={bar}, peer="fractions.Fraction", peer_value=0.0)
"""

COMMANDS = """
    import signal
    from pathlib import Path
    from typing import Annotated

    import typer

    from firstlight.errors import InvalidInput

    app = typer.Typer()

    @app.command()
    def add(numbers: Annotated[list[float], typer.Argument(help="what to add")]) -> None:
        '''Add numbers.'''
        typer.echo(sum(numbers))

    @app.command()
    def refuse() -> None:
        '''Refuse with an error of ours.'''
        raise InvalidInput("expected [numbers],\\ngot none")

    @app.command()
    def read(path: Path) -> None:
        '''Read a file.'''
        path.read_text()

    @app.command()
    def fail() -> None:
        '''Fail by a bug.'''
        1 / 0

    @app.command()
    def stop() -> None:
        '''Be stopped.'''
        signal.raise_signal(signal.SIGINT)
"""

run = CliRunner().invoke


def in_a_new_process(code: str, **environment: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)


def modules_loaded_by(code: str) -> set[str]:
    end = "\nfinally:\n    import sys\n    print('loaded', *sys.modules, file=sys.stderr)"
    finished = in_a_new_process(f"try:\n    {code}{end}")
    assert finished.stderr.startswith("loaded"), finished.stderr
    return set(finished.stderr.split())


HEAVY = {"torch", "numba", "scipy", "numpy", "matplotlib", "jinja2", "pyspiel"}


def test_import_firstlight_loads_nothing_heavy():
    assert not modules_loaded_by("import firstlight") & {*HEAVY, "typer", "rich"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["list"], ["verify", "--help"]])
def test_commands_that_measure_nothing_load_nothing_heavy(arguments):
    loaded = modules_loaded_by(f"import sys; sys.argv[1:] = {arguments}; from firstlight.cli import main; main()")
    assert "firstlight.cli.root" in loaded
    assert not loaded & {*HEAVY, *(f"firstlight.{system.path}" for system in catalogue.SYSTEMS)}


def test_the_installed_command_prints_its_version():
    command = os.path.join(os.path.dirname(sys.executable), "firstlight")  # noqa: PTH118, PTH120
    finished = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stdout) == (0, f"firstlight {__version__}\n")


def test_help_shows_each_working_system_with_its_line_and_no_planned_one(build_system):
    build_system("field.sums", commands="raise RuntimeError('imported')")
    build_system("later", works=False)
    shown = run(app, ["--help"])
    assert shown.exit_code == 0
    assert "What field.sums gives." in shown.output
    assert "later" not in shown.output


def test_the_list_is_whole_when_piped():
    lines = run(app, ["list"]).output.splitlines()
    for system in catalogue.SYSTEMS:
        (line,) = [line for line in lines if line.split()[:1] == [system.path]]
        assert system.summary in line
        assert system.host in line
        assert line.rstrip().endswith("works" if system.works else "planned")


def test_a_verb_of_a_system_runs(build_system):
    build_system("field.sums", commands=COMMANDS)
    assert run(app, ["sums", "add", "1", "2.5"]).output == "3.5\n"
    assert "Add numbers." in run(app, ["sums", "--help"]).output
    assert "what to add" in run(app, ["sums", "add", "--help"]).output


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["sums", "refuse"], "error: expected [numbers], got none\n"),
        (["sums", "read", "no/such/file.csv"], "error: [Errno 2] No such file or directory: 'no/such/file.csv'\n"),
        (["verify", "smus"], "error: no system is named 'smus'; did you mean sums?\n"),
        (["later"], "error: later is planned and not yet built; see: firstlight list\n"),
        (["verify", "later"], "error: later is planned and not yet built; see: firstlight list\n"),
        (["without", "verb"], "error: a_library_nobody_has is not installed; run: pip install 'firstlight[without]'\n"),
        (
            ["verify", "--html", "no/folder/report.html"],
            "error: cannot write no/folder/report.html: the folder no/folder does not exist; create it first\n",
        ),
    ],
)
def test_unusable_input_is_one_line_on_standard_error_and_exit_code_2(build_system, arguments, line):
    build_system("sums", commands=COMMANDS, claims="raise AssertionError('measured')")
    build_system("without", commands="import a_library_nobody_has")
    build_system("later", works=False)
    finished = run(app, arguments)
    assert (finished.exit_code, finished.stdout, finished.stderr) == (2, "", line)


def test_debug_shows_where_an_error_comes_from(build_system):
    build_system("sums", commands=COMMANDS)
    finished = run(app, ["--debug", "sums", "refuse"])
    assert isinstance(finished.exception, ValueError)
    assert str(finished.exception) == "expected [numbers],\ngot none"


def test_a_bug_is_not_hidden(build_system):
    build_system("sums", commands=COMMANDS)
    assert isinstance(run(app, ["sums", "fail"]).exception, ZeroDivisionError)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["nothing"], "'nothing'"),
        (["verify", "--seed", "-1"], "'--seed'"),
        (["verify", "--fast"], "--fast"),
        (["sums", "nothing"], "'nothing'"),
    ],
)
def test_a_command_line_that_cannot_be_read_has_exit_code_2(build_system, arguments, named):
    build_system("sums", commands=COMMANDS)
    finished = run(app, arguments)
    assert (finished.exit_code, finished.stdout) == (2, "")
    assert named in finished.stderr


def test_ctrl_c_is_one_line_and_exit_code_130(build_system):
    build_system("sums", commands=COMMANDS)
    finished = run(app, ["sums", "stop"])
    assert (finished.exit_code, finished.stderr) == (130, "stopped by Ctrl-C\n")


@pytest.mark.parametrize(
    ("bar", "code", "verdict"), [(1e-9, 0, "✓ holds"), (-1.0, 1, "✗ missed"), ("1 / 0", 1, "✗ failed")]
)
def test_verify_prints_a_table_and_its_exit_code_says_whether_all_claims_hold(build_system, bar, code, verdict):
    build_system("sums", claims=CLAIMS.format(bar=bar))
    finished = run(app, ["verify"])
    assert finished.exit_code == code
    (line,) = [line for line in finished.stdout.splitlines() if "three sevenths of [a] number" in line]
    assert line.strip().startswith(verdict)
    if verdict != "✗ failed":
        assert "fractions.Fraction: 0" in line
    assert f"{1 - code} of 1 claim holds (quick run, seed 0" in finished.stdout
    assert "\x1b" not in finished.output


def test_verify_writes_both_reports(build_system, tmp_path):
    build_system("sums", claims=CLAIMS.format(bar=1))
    page, data = tmp_path / "report.html", tmp_path / "report.json"
    finished = run(app, ["verify", "sums", "--full", "--seed", "7", "--html", str(page), "--json", str(data)])
    assert finished.exit_code == 0
    content = json.loads(data.read_text(encoding="utf-8"))
    assert (content["seed"], content["full"], content["command"]) == (7, True, "firstlight verify sums --full --seed 7")
    assert "firstlight verify sums --full --seed 7" in page.read_text(encoding="utf-8")


PROGRAM = """
import sys

import firstlight
from firstlight import catalogue

firstlight.__path__.append({folder!r})
catalogue.SYSTEMS = (catalogue.System("sums", "sums", "NumPy", "a paper", works=True),)
from firstlight.cli import main

main()
"""


def test_ctrl_c_during_verify_prints_and_writes_what_was_measured(build_system, tmp_path):
    slow = (
        CLAIMS.format(bar=1)
        + """
    @claim("this one takes an hour", source="ours")
    def slow(budget: Budget) -> Measurement:
        import time
        time.sleep(3600)
    """
    )
    build_system("sums", claims=slow)
    data = tmp_path / "report.json"
    command = [sys.executable, "-c", PROGRAM.format(folder=str(tmp_path)), "verify", "--json", str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first = process.stderr.readline()  # printed when the first claim is done
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        try:
            output, errors = process.communicate(timeout=30)
        finally:
            process.kill()
    assert first.startswith("✓ holds")
    assert (process.returncode, errors) == (130, "stopped after 1 of 2 claims\n")
    assert "1 of 1 claim holds; stopped with 1 still to measure" in output
    assert len(json.loads(data.read_text(encoding="utf-8"))["claims"]) == 1


def test_output_that_cannot_say_a_tick_is_not_the_end_of_a_run(build_system, tmp_path):
    build_system("sums", claims=CLAIMS.format(bar=1))
    code = f"import sys; sys.argv[1:] = ['verify']\n{PROGRAM.format(folder=str(tmp_path))}"
    finished = in_a_new_process(code, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (finished.returncode, "1 of 1 claim holds" in finished.stdout) == (0, True)


@pytest.mark.parametrize("arguments", [["list"], ["sums", "add", "1"]])
def test_a_reader_that_goes_away_is_no_error(build_system, tmp_path, arguments):
    build_system("sums", commands=COMMANDS)
    code = f"import sys; sys.argv[1:] = {arguments}\n{PROGRAM.format(folder=str(tmp_path))}"
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write) as closed:
        command = [sys.executable, "-c", code]
        finished = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True, check=False)
    assert finished.stderr == ""


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("firstlight ver", "verify"),
        ("firstlight verify ga", "games"),
        ("firstlight ga", "games"),
        ("firstlight li", "list"),
    ],
)
def test_the_shell_completes_commands_and_systems(typed, offered):
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1), "_FIRSTLIGHT_COMPLETE": "complete_bash"}
    finished = in_a_new_process("from firstlight.cli import main; main()", **words)
    assert offered in finished.stdout.split()
