"""Settings shared by all tests."""

from hypothesis import HealthCheck, settings

# The first call of a compiled kernel takes seconds; that is no sign of a slow property.
settings.register_profile("firstlight", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("firstlight")
