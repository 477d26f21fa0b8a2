"""Problem files: a whole problem in one document that people can write, YAML or JSON.

From top to bottom: `loading` and `dumping`; what is made of a document (`activities`, `procedure`, `grids`,
`tables`); the format (`format`, from which the `schema` comes as well) and what it is declared with
(`records`, `forms`); the document as a tree with lines (`tree`, `parsing`, `source`, `findings`).
"""
