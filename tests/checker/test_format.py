from __future__ import annotations

import json
import random
import tracemalloc
import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hcssp.checker import Certificate, check
from hcssp.errors import HcsspError, InvalidCertificate
from hcssp.files import certificate
from hcssp.files.certificate import EXPANSION, MAGIC, SMALL, from_bytes, to_bytes
from hcssp.proofs.builder import ProofBuilder
from proof_search import searched
from small_procedures import retrying
from volume import examples

PROBLEM = retrying()
PROOF = searched(PROBLEM)
DATA = to_bytes(PROOF.certificate)


def unpacked(data: bytes) -> tuple[dict[str, Any], bytes]:
    body = zlib.decompress(data[len(MAGIC) :])
    end = 8 + int.from_bytes(body[:8], "little")
    return json.loads(body[8:end]), body[end:]


def packed(header: object, values: bytes) -> bytes:
    text = json.dumps(header).encode()
    return MAGIC + zlib.compress(len(text).to_bytes(8, "little") + text + values)


def same(first: Certificate, second: Certificate) -> bool:
    plain = [
        (c.bounds, c.tree, c.leaves, c.upper_bound, c.plan_statements, c.statements) for c in (first, second)
    ]
    pairs = zip(first.potentials, second.potentials, strict=True)
    arrays = [np.stack([c.plan, c.ranks]) for c in (first, second)]
    return (
        plain[0] == plain[1]
        and np.array_equal(*arrays)
        and all(
            (a.activity, a.weights, a.forbidden, a.of_plan) == (b.activity, b.weights, b.forbidden, b.of_plan)
            and np.array_equal(a.values, b.values)
            for a, b in pairs
        )
    )


def test_a_certificate_comes_back_as_it_was() -> None:
    again = from_bytes(DATA)
    assert same(again, PROOF.certificate)
    assert check(PROBLEM, again) == check(PROBLEM, PROOF.certificate)
    assert np.inf in again.bounds, "an unbounded constraint must be among those that are written"


def test_a_certificate_of_nothing_can_be_written() -> None:
    nothing = ProofBuilder(PROBLEM).certificate()
    again = from_bytes(to_bytes(nothing))
    assert same(again, nothing)
    verdict = check(PROBLEM, again)
    assert (verdict.lower_bound, verdict.upper_bound, verdict.costs) == (0.0, np.inf, ())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "does not begin with"),
        (b"hcssp-certificate 1\n" + DATA[len(MAGIC) :], "does not begin with"),
        (DATA[:-1], "cut off"),
        (DATA[: len(MAGIC)], "cut off"),
        (DATA + b"x", "followed by something"),
        (MAGIC + b"x" * 100, "incorrect header"),
        (packed([], b""), "not a certificate"),
        (packed({}, b""), "not a certificate, or it is damaged: 'potentials'"),
        (packed(unpacked(DATA)[0], unpacked(DATA)[1] + b"12345678"), "values, but there are"),
        (packed(unpacked(DATA)[0], unpacked(DATA)[1] + b"1"), "cannot reshape"),
        (MAGIC + zlib.compress((10**9).to_bytes(8, "little") + b"{}"), "not a certificate"),
        (MAGIC + zlib.compress(b"\xff" * 8 + b"{}"), "not a certificate"),
        (MAGIC + zlib.compress((5).to_bytes(8, "little") + b"{nope"), "not a certificate"),
        (packed({"potentials": [[0, False, [1.0], [], -1]]}, b""), "-1 numbers nothing"),
        (packed({"potentials": [[0, False, [1.0], [], 10**30]]}, b""), "values, but there are 0"),
        (packed({"potentials": [[-1, False, [1.0], [], 0]]}, b""), "-1 numbers nothing"),
        (packed({"potentials": [["a", False, [1.0], [], 0]]}, b""), "'a' numbers nothing"),
        (MAGIC + zlib.compress((200_000).to_bytes(8, "little") + b"[" * 200_000), "not a certificate"),
    ],
)
def test_damaged_bytes_are_told_from_a_certificate(data: bytes, message: str) -> None:
    with pytest.raises(InvalidCertificate, match=message):
        from_bytes(data)


def test_the_limits_are_those_that_are_documented() -> None:
    assert (SMALL, EXPANSION) == (16 * 1024 * 1024, 64)


def test_a_stream_that_expands_too_much_is_not_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate, "SMALL", 1 << 16)
    bomb = MAGIC + zlib.compress(bytes(1 << 26))
    tracemalloc.start()
    try:
        with pytest.raises(InvalidCertificate, match="expands too much"):
            from_bytes(bomb)
        assert tracemalloc.get_traced_memory()[1] < 4 * ((1 << 16) + EXPANSION * len(bomb)) < 1 << 26
    finally:
        tracemalloc.stop()


def test_what_compresses_too_well_is_written_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificate, "SMALL", 1 << 12)
    monkeypatch.setattr(certificate, "SMALL", 1 << 12)
    dull = replace(PROOF.certificate.potentials[0], values=np.zeros(1 << 16))
    data = to_bytes(replace(PROOF.certificate, potentials=(dull,)))
    assert len(data) > 8 << 16
    assert len(from_bytes(data).potentials[0].values) == 1 << 16


def test_flipped_bytes_never_crash() -> None:
    rng = random.Random(0)
    refused = 0
    for _ in range(2_000):
        data = bytearray(DATA)
        for _ in range(rng.choice([1, 1, 2, 8])):
            data[rng.randrange(len(data))] = rng.randrange(256)
        if bytes(data) == DATA:
            continue
        try:
            # A few bits of the stream say how it was compressed, or nothing.
            assert same(from_bytes(bytes(data)), from_bytes(DATA))
        except InvalidCertificate:
            refused += 1
    assert refused > 1_900


def test_flipped_bytes_behind_the_checksum_never_crash() -> None:
    rng = random.Random(1)
    body = zlib.decompress(DATA[len(MAGIC) :])
    outcomes = {"verified": 0, "refused": 0}
    count = examples(600, 3)
    for _ in range(count):
        data = bytearray(body)
        for _ in range(rng.choice([1, 2, 8])):
            data[rng.randrange(len(data))] = rng.randrange(256)
        outcomes[judged(MAGIC + zlib.compress(bytes(data), 1))] += 1
    assert outcomes["refused"] > count // 3


JUNK: tuple[Any, ...] = (
    None, -1, 0, 1, 3, 10**6, 10**30, 0.5, -1e300, 1e308, float("inf"), float("nan"), "", "1", "x", True,
    [], [1], [[]], {}, {"a": 1}, [[0, 0, 0]], [None, None],
)  # fmt: skip


def test_junk_in_the_header_never_crashes() -> None:
    rng = random.Random(2)
    refused = 0
    count = examples(600, 3)
    for _ in range(count):
        header, values = unpacked(DATA)
        for _ in range(rng.choice([1, 1, 2, 3])):
            spoil(header, rng)
        refused += judged(packed(header, values)) == "refused"
    assert refused > 0.4 * count


def spoil(value: Any, rng: random.Random) -> None:
    """Replace, remove or repeat something, somewhere inside."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            value.update(x=1) if isinstance(value, dict) else value.append(rng.choice(JUNK))
            return
        key = rng.choice(keys)
        if isinstance(value[key], dict | list) and rng.random() < 0.8:
            value = value[key]
            continue
        kind = rng.random()
        if kind < 0.7:
            value[key] = rng.choice(JUNK)
        elif kind < 0.85:
            del value[key]
        elif isinstance(value, list):
            value.insert(key, value[key])
        return


def judged(data: bytes) -> str:
    """What becomes of some bytes; whatever is verified must be true."""
    try:
        verdict = check(PROBLEM, from_bytes(data))
    except HcsspError:
        return "refused"
    assert verdict.lower_bound <= PROOF.optimum + 1e-12
    assert verdict.upper_bound >= PROOF.optimum - 1e-12
    return "verified"
