from __future__ import annotations

import pytest

from hcssp.cli import main

SOLVE = ["solve", "small-building"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["solve", "evacuatoin"], "there is no problem 'evacuatoin'; did you mean 'evacuation'?"),
        (
            ["solve", "zzz"],
            "there is no problem 'zzz'; available: aircraft, campus, delivery,",
        ),
        (["slove", "evacuation"], "there is no command 'slove'; did you mean 'solve'?"),
        ([*SOLVE, "--method", "exakt"], "there is no method 'exakt'; did you mean 'exact'?"),
        ([*SOLVE, "--bound", "damgae=2"], "there is no constraint 'damgae'; did you mean 'damage'?"),
        ([*SOLVE, "--bound", "damage=much"], "the bound on 'damage': 'much' is not a number"),
        ([*SOLVE, "--bound", "damage=nan"], "the bound on 'damage': 'nan' is not a number"),
        ([*SOLVE, "--bound", "damage="], "the bound on 'damage': '' is not a number"),
        ([*SOLVE, "--bound", "damage=-inf"], "the bound on 'damage': -inf is no bound; write damage=2"),
        ([*SOLVE, "--bound", "damage"], "'damage' is not of the form NAME=VALUE, such as damage=2"),
        ([*SOLVE, "--bound", "damage=1", "--bound", "damage=2"], "--bound damage: given twice"),
        ([*SOLVE, "--gap", "-1"], "-1 is no relative gap; give 0 or more"),
        ([*SOLVE, "--gap", "inf"], "inf is no relative gap"),
        ([*SOLVE, "--gap", "small"], "'small' is not a number"),
        ([*SOLVE, "--time-limit", "0"], "0 is no time limit; give a positive number of seconds"),
        ([*SOLVE, "--iterations", "1.5"], "1.5 is no number of iterations; give a whole number, 0 or more"),
        ([*SOLVE, "--iterations", "-1"], "-1 is no number of iterations"),
        ([*SOLVE, "--iterations", "3"], "--iterations does not apply to the method 'exact', only to budget-"),
        (
            [*SOLVE, "--mode", "sharp"],
            "--mode does not apply to the method 'exact', only to budget-",
        ),
        (
            [*SOLVE, "--method", "budget-allocation", "--mode", "publishd"],
            "no mode 'publishd'; did you mean 'published'?",
        ),
        ([*SOLVE, "--scale", "0"], "0 is no scale; give a whole number of at least 1"),
        ([*SOLVE, "--scale", "inf"], "inf is no scale"),
        ([*SOLVE, "--plot", "no/such/folder/plan.png"], "there is no folder no/such/folder; make it first"),
        ([*SOLVE, "--plot", "plan.doc"], "--plot plan.doc: matplotlib cannot write .doc"),
        (
            [*SOLVE, "--lagrangian", "lines.png", "--activity", "nowhere"],
            "no activity 'nowhere'; available: ",
        ),
        ([*SOLVE, "--axes", "go-to-E", "go-to-door"], "--axes: only --allocation draws two activities"),
        ([*SOLVE, "--quiet", "--verbose"], "not allowed with argument"),
        ([*SOLVE, "--colour"], "unknown option --colour; see hcssp solve --help"),
        ([*SOLVE, "--bond=2"], "unknown option --bond; did you mean --bound?; see hcssp solve --help"),
        ([*SOLVE, "twice"], "unexpected argument 'twice'; see hcssp solve --help"),
        ([], "the following arguments are required: COMMAND; see hcssp --help"),
        (["table", "--bound", "damage=x"], "the bound on 'damage': 'x' is not a number"),
    ],
)
def test_bad_input_gets_one_message_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    last = printed.err.splitlines()[-1]
    assert last.startswith("hcssp: error: ")
    assert message in last
    assert "Traceback" not in printed.err


def test_pictures_without_matplotlib_say_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # None makes the import fail as if it were not there.
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    assert main([*SOLVE, "--plot", "plan.png"]) == 2
    assert (
        "pictures need matplotlib, which is not installed; pip install 'hcssp[plot]'"
        in capsys.readouterr().err
    )
