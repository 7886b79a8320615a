"""One module a format: an index over the caller's bytes, and the bytes of what changes."""
