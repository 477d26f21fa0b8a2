"""Problems as files that people write: loading, writing, the schema, and what identifies a problem."""
