"""Python client of hango.compaction.v1."""
