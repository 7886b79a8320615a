"""Measures what a compacted request still knows of the messages that are gone: `python -m bench.fidelity`."""
