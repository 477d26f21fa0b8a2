"""Problem files: a whole problem in one document that people can write, YAML or JSON.

From top to bottom: `loading` and `dumping`; `models` and `tables`, which make C-SSPs of a document; `format`,
which declares the format and its JSON Schema; `schema`, what it is declared with; `document`, the tree with
lines; `arithmetic` on parameters.
"""
