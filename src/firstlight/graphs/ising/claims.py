"""What the paper and we claim about the long-range Ising benchmark, in the order of the report."""

# ruff: noqa: I001, RUF022 - the order of the names is that of the report: first the graphs, then the models

from firstlight.graphs.ising.physics_claims import (
    sampler_is_exact,
    fields_equal_direct_sums,
    labels_are_quick,
    sweeps_are_linear,
    faster_than_the_textbook,
    oracle_is_the_published_one,
    graphs_are_independent,
    files_are_small,
    the_oracle_is_not_optimal,
    locality_has_witnesses,
    range_diverges,
)
from firstlight.graphs.ising.learning_claims import (
    linear_model_is_accurate,
    linear_model_transfers,
    model_is_linear,
    range_equals_closed_form,
)

__all__ = [
    "sampler_is_exact",
    "fields_equal_direct_sums",
    "labels_are_quick",
    "sweeps_are_linear",
    "faster_than_the_textbook",
    "oracle_is_the_published_one",
    "graphs_are_independent",
    "files_are_small",
    "the_oracle_is_not_optimal",
    "locality_has_witnesses",
    "range_diverges",
    "linear_model_is_accurate",
    "linear_model_transfers",
    "model_is_linear",
    "range_equals_closed_form",
]
