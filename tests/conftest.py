"""Shapes are checked while tests run; `HYPOTHESIS_PROFILE=deep` looks harder for failures."""

import os

from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

install_import_hook("espalier.nets", "beartype.beartype")

settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("deep", settings.get_profile("ci"), derandomize=False, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
