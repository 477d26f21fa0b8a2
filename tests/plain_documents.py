"""The bare values of a document that the reader of problem files has parsed."""

from __future__ import annotations

from typing import Any

from hcssp.files.problem_file.document import Findings, Items, Limits, Node, Scalar, parse_document


def plain(node: Node) -> Any:
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Items):
        return [plain(item) for item in node.items]
    return {key: plain(value) for key, value in node.entries.items()}


def plain_document(text: str, *, json: bool = False) -> Any:
    return plain(parse_document(text, Findings("it"), Limits(), json=json))
