"""Temperatures of the benchmark, and where a finite lattice comes closest to a phase transition."""

LRIM_TEMPERATURES = {
    (16, 0.6): 8.8787,
    (32, 0.6): 10.245,
    (64, 0.6): 10.985,
    (128, 0.6): 11.515,
    (256, 0.6): 11.90,
    (16, 1.5): 5.422,
    (32, 1.5): 5.512,
    (64, 1.5): 5.552,
    (128, 1.5): 5.601,
    (256, 1.5): 5.603,
}
