"""The service that honours the contract hango.compaction.v1."""
