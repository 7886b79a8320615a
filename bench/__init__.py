"""Measures what the service costs beside an echo of the same bytes: `python -m bench`."""
