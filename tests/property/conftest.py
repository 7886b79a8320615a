"""Profiles of Hypothesis: `default` is quick, `ci` always draws the same, `thorough` looks for longer."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_QUIET = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)

settings.register_profile("default", max_examples=30, deadline=None, suppress_health_check=_QUIET)
settings.register_profile(
    "ci", max_examples=30, deadline=None, derandomize=True, print_blob=True, suppress_health_check=_QUIET
)
settings.register_profile("thorough", max_examples=2_000, deadline=None, suppress_health_check=_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default"))
