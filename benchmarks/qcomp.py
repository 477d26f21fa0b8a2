"""The table of docs/qcomp.md: the multi-objective queries of QComp 2023, decided and verified.

The folder has models and files of properties of https://github.com/tquatmann/qcomp23-multi, such as
``ejs-N2B002Unf1-RtRtachievability.props``: the model is ``ejs2.prism`` or ``ejs.prism``, the constants are
B=2 and Unf=1. Those that no name gives are given by --constants. Each certificate is written, read again and
verified in exact arithmetic; the seconds, of the processor, count all of it, and the reading of the model.

    python benchmarks/qcomp.py FOLDER --constants COUNTER=10
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from measuring import announce, parser, run_apart, table


def measure_query(model: str, props: str, constants: dict[str, str], limit: float) -> dict[str, Any]:
    """The verdicts for both kinds of policies, and what their certificates prove."""
    from hcssp.exchange.objectives import decide, load_question, verdict, verified
    from hcssp.files.certificate import from_bytes, to_bytes

    began = time.process_time()
    question = load_question(model, props=props, constants=constants)
    found: dict[str, Any] = {
        "states": question.num_states,
        "bounds": ", ".join(" ".join(each.text.split()) for each in question.query.objectives),
    }
    known = None
    for kind in ("randomised", "deterministic"):
        known = decide(question, kind, limit, known)  # type: ignore[arg-type]
        found[kind] = verdict(known)
        if known.achievable is None:
            continue
        certificate = from_bytes(to_bytes(known.certificate or known.plan.certificate))
        proven = verified(question, certificate)
        # "No" for randomised policies, or a deterministic policy, answers for both kinds.
        fits = proven.randomised is not proven.achievable or proven.randomised is (kind == "randomised")
        if proven.achievable is not known.achievable or not fits:
            found[kind] += ", not verified"
    return found | {"seconds": time.process_time() - began}


def main() -> None:
    """Decide all queries of a folder."""
    options = parser("The queries of QComp 2023.")
    options.add_argument("folder", type=Path)
    options.add_argument("--constants", default="", metavar="NAME=VALUE,...")
    options.add_argument("--time-limit", type=float, default=600.0, metavar="S")
    arguments = options.parse_args()
    given = dict(each.split("=") for each in arguments.constants.split(",") if each)
    rows = []
    for props in sorted(arguments.folder.glob("*.props")):
        name, numbers, _ = props.stem.split("-", 2)
        values = {key: str(int(value)) for key, value in re.findall(r"([A-Z][a-z]*)(\d+)", numbers)}
        model = arguments.folder / f"{name}{values.get('N', '')}.prism"
        model = model if model.exists() else arguments.folder / f"{name}.prism"
        open_ = re.findall(r"^const\s+(?:\w+\s+)?(\w+)\s*;", model.read_text(), flags=re.MULTILINE)
        constants = {key: value for key, value in (given | values).items() if key in open_}
        announce(props.stem)
        asked = {
            "model": str(model),
            "props": str(props),
            "constants": constants,
            "limit": arguments.time_limit,
        }
        found = run_apart("qcomp", "measure_query", asked, 4.0 * arguments.time_limit) or {}
        rows.append(
            (
                props.stem.removesuffix("achievability"),
                f"{found.get('states', 0):,}",
                found.get("randomised", "-"),
                found.get("deterministic", "-"),
                f"{found['seconds']:.2g}" if found else "-",
            )
        )
    print(table("Queries of QComp 2023", ("query", "states", "randomised", "deterministic", "seconds"), rows))


if __name__ == "__main__":
    main()
