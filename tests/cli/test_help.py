from __future__ import annotations

import argparse
import json
import subprocess
import sys

import pytest

import hcssp
from hcssp.cli import main
from hcssp.cli.commands import COMMANDS as ALL
from hcssp.cli.commands import common
from hcssp.scenarios.scenario import scenarios
from hcssp.solving.registry import METHODS

COMMANDS = ("solve", "evaluate", "check", "simulate", "curve", "show", "table")


def test_help_needs_nothing_heavy() -> None:
    lines = [["--help"], *([each, "--help"] for each in COMMANDS), ["--version"]]
    code = (
        "import sys\n"
        "from hcssp.cli import main\n"
        f"for arguments in {lines}:\n"
        "    assert main(arguments) == 0\n"
        "    heavy = {'numpy', 'scipy', 'highspy', 'matplotlib'} & set(sys.modules)\n"
        "    assert not heavy, (arguments, heavy)\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout


def test_help_tells_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    for word in (*COMMANDS, "methods", "problems", "exit codes"):
        assert word in printed


def test_help_of_solve_tells_all_methods(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "--help"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert next(iter(METHODS)) == "exact"
    for name in METHODS:
        assert name in printed


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"hcssp {hcssp.__version__}"


def test_methods_and_problems_are_listed_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["methods"][0]["name"] == "exact"
    assert main(["problems", "--json"]) == 0
    listed = {each["name"]: each for each in json.loads(capsys.readouterr().out)["problems"]}
    assert {key: listed["small-building"]["parameters"][1][key] for key in ("name", "default")} == {
        "name": "locked",
        "default": 0.2,
    }


def test_methods_and_problems_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed if not line.startswith(" ")] == list(METHODS)
    assert main(["problems"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed if not line.startswith(" ")] == list(scenarios())


def test_options_mean_the_same_everywhere() -> None:
    """A file is a file, a number of seconds a number of seconds; only an axis has several values."""
    axes = {("sweep", "--set"), ("sweep", "--bound"), ("sweep", "--probability"), ("table", "--bound")}
    for name in ALL:
        parser = argparse.ArgumentParser(add_help=False)
        ALL[name].add_arguments(parser)
        for action in parser._actions:
            for option in action.option_strings:
                if option in common() and (name, option) not in axes and option != "--points":
                    assert action.type is common()[option].get("type"), (name, option)
                assert option not in ("--output", "--results", "--png", "--dot", "--bounds")
