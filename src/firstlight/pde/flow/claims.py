"""What the paper and we claim about learning continuous dynamics, on trajectories no model was trained on.

The models are those that ship: ours, trained on a quarter of the frames at random times, and the maps from frame to
frame, trained by the same recipe on all of them. Training itself is repeated, seed by seed, by benchmarks/pde_flow.py.
"""

import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

import torch

from firstlight.evidence import Budget, Measurement, claim
from firstlight.pde.flow.baselines import Autoregressive, NeuralODE
from firstlight.pde.flow.experiments import (
    EXPERIMENTS,
    build,
    error_against_evaluations,
    field_error,
    step_cost,
    timed,
    truth,
)
from firstlight.pde.flow.flow_operator import FlowOperator
from firstlight.pde.flow.label_quality import label_errors, measured_orders
from firstlight.pde.flow.problems import DiffusionReaction, Lorenz, simulate
from firstlight.pde.flow.reversal import IllPosedReversal
from firstlight.pde.flow.rollout import relative_error
from firstlight.pde.flow.trajectories import Trajectories

PAPER = "Hou et al. 2026"
SEED_OF_NO_SET = 2**20  # far from the seeds of training, validation and test
COUNTS: Mapping[str, tuple[int, int]] = {
    "lorenz": (16, 200),
    "burgers": (8, 100),
    "diffusion-reaction": (3, 30),
    "shallow-water": (3, 30),
}


@claim("Velocities of the paths converge at orders 1, 2, 3, 4 and 5 in the distance of snapshots", source=PAPER)
def orders_are_those_of_theory(budget: Budget) -> Measurement:
    """Linear, the paper's quintic, cubic, five-point and C⁴ paths through sin(t) at uneven times; largest errors."""
    rows = measured_orders()
    worst = max(abs(row["order"] - row["theory"]) for row in rows)
    return Measurement("largest deviation of an order", worst, bar=0.15, peer="theory", peer_value=0, rows=rows)


@claim("The C⁴ path halves the error of the paper's labels on diffusion-reaction", source="ours")
def better_paths_give_better_labels(budget: Budget) -> Measurement:
    """Velocities at a quarter of the frames, against the solver's right-hand side; no network takes part."""
    rows = label_errors(DiffusionReaction(), 0.25, n=budget.pick(2, 20), seed=budget.seed)
    error = {row["kind"]: row["error"] for row in rows}
    return Measurement(
        "relative error", error["c4"], bar=error["quintic"] / 2, peer="the paper's quintic",
        peer_value=error["quintic"], rows=rows,
    )  # fmt: skip


@claim("On Lorenz, a quarter of the frames beats the map to the next state, which saw all of them", source=PAPER)
def lorenz_beats_next_state(budget: Budget) -> Measurement:
    """Error of rollouts over 2 units of time, over that of the peer. The paper has 0.75.

    The rows hold a stronger map too, to the normalised increment, which the operator does not beat here.
    """
    return _against("lorenz", "state", 0.7, budget)


@claim("On Burgers' equation, a quarter of the frames beats the map to the next state", source=PAPER)
def burgers_beats_next_state(budget: Budget) -> Measurement:
    """Error of rollouts over that of the peer, with the same U-Net. The paper has 0.21."""
    return _against("burgers", "state", 0.4, budget)


@claim("On diffusion-reaction, a quarter of the frames beats the map to the next state", source=PAPER)
def diffusion_reaction_beats_next_state(budget: Budget) -> Measurement:
    """Error of rollouts over that of the peer, same U-Net, 32 × 32 cells.

    The paper has 0.13 on 128 × 128, with 0.053 over 0.42. Longer training makes both models better, the peer more.
    """
    return _against("diffusion-reaction", "state", 1.0, budget)


@claim("On shallow water, a quarter of the frames beats the map to the next state", source=PAPER)
def shallow_water_beats_next_state(budget: Budget) -> Measurement:
    """Error of rollouts over that of the peer, same U-Net, 32 × 32 cells. The paper has 0.17 on 128 × 128."""
    return _against("shallow-water", "state", 0.4, budget)


@claim("The paper's quintic path beats straight lines", source=PAPER)
def quintic_beats_linear(budget: Budget) -> Measurement:
    """Error on Lorenz of a model trained on lines between a quarter of the frames, over that of the quintic."""
    errors = _errors("lorenz", budget)
    return Measurement("ratio of errors", errors["linear"] / errors["flow"], bar=1.5, better="higher", unit="×")


@claim("With half the evaluations of the map to the next state the error is still smaller", source=PAPER)
def half_the_evaluations_suffice(budget: Budget) -> Measurement:
    """Evaluations of the network by Runge-Kutta, half of one per frame; the worse of Lorenz and Burgers."""
    rows = []
    for name in ("lorenz", "burgers"):
        test = _fresh(name, budget)
        evaluations, error, _ = error_against_evaluations(_shipped(name), test, [0.5])[0]
        rows.append({"problem": name, "per frame": evaluations, "over peer": error / _errors(name, budget)["state"]})
    return Measurement("ratio of errors", max(row["over peer"] for row in rows), bar=1.0, rows=rows)


@claim("On Burgers' equation the map to the next state is not both faster and more accurate", source="ours")
def on_the_pareto_front(budget: Budget) -> Measurement:
    """In processor time: the error at no more time than the map takes, over the map's.

    The rows hold Lorenz too, where the map to the next increment is as fast and more accurate.
    """
    rows: list[dict[str, Any]] = []
    ratios: dict[str, float] = {}
    for name in ("lorenz", "burgers"):
        curve, peers = _error_against_time(name, budget)
        rows += curve + peers
        affordable = [row["error"] for row in curve if row["ms"] <= peers[0]["ms"]]
        ratios[name] = min(affordable, default=torch.inf) / peers[0]["error"]
    return Measurement("ratio of errors", ratios["burgers"], bar=1.0, peer="map to the next state", rows=rows)


@claim("A step of training costs what a step of the map to the next state costs", source=PAPER)
def training_costs_the_same(budget: Budget) -> Measurement:
    """Processor time of drawing, forward, backward and Adam with the U-Net of Burgers, batch 16, over the peer's."""
    rows = _step_costs(budget)
    cost = {row["model"]: row["ms"] for row in rows}
    return Measurement("ratio", cost["flow"] / cost["state"], bar=1.15, peer="map to the next state", rows=rows)


@claim("A step of training is over ten times cheaper than one through a solver", source=PAPER)
def training_is_cheaper_than_through_a_solver(budget: Budget) -> Measurement:
    """Peer: torchdiffeq's Runge-Kutta over 10 segments between frames, one step each, and back through all of them.

    Over a single segment, the least that can be trained through a solver, the ratio is that of the table.
    """
    rows = _step_costs(budget)
    cost = {row["model"]: row["ms"] for row in rows}
    ratio = cost["neural ODE, 10 segments"] / cost["flow"]
    return Measurement("times cheaper", ratio, bar=10, better="higher", unit="×", peer="torchdiffeq", rows=rows)


@claim("Learned velocities of Lorenz and Burgers are near the solver's own right-hand side", source="ours")
def field_is_near_the_right_hand_side(budget: Budget) -> Measurement:
    """Relative L² error on states of fresh trajectories, the worse of the two; the rows hold all four models."""
    errors = {name: field_error(_shipped(name), EXPERIMENTS[name].problem, _fresh(name, budget)) for name in COUNTS}
    rows = [{"problem": name, "error": error} for name, error in errors.items()]
    worst = max(errors["lorenz"], errors["burgers"])
    return Measurement("relative error", worst, bar=0.1, peer="right-hand side", rows=rows)


@claim("At times between frames the error is that at frames", source=PAPER)
def queries_between_frames(budget: Budget) -> Measurement:
    """On Burgers, at 7 irregular times that are no frames' against frames near them: the ratio of errors."""
    problem, model = EXPERIMENTS["burgers"].problem, _shipped("burgers")
    unseen = torch.tensor([0.0, 0.0731, 0.1913, 0.2877, 0.4459, 0.6128, 0.7741, 0.9356], dtype=torch.float64)
    frames = torch.round(unseen, decimals=2)
    errors = []
    for times in (unseen, frames):
        n, seed = budget.pick(*COUNTS["burgers"]), SEED_OF_NO_SET + budget.seed
        t, u = truth(simulate(problem, n, seed=seed, times=times.numpy()).trajectories())
        errors.append(float(relative_error(model.predict(u[0], t).u, u).mean()))
    return Measurement("ratio", errors[0] / errors[1], bar=1.05, peer="at frames", peer_value=1.0)


@claim("torchdiffeq integrates the model as it is, to the same states", source="ours")
def torchdiffeq_agrees(budget: Budget) -> Measurement:
    """Lorenz over 2 units of time, dopri5 at a tolerance of 1e-6 in double precision: relative distance from RK4."""
    from torchdiffeq import odeint

    model, (t, u) = _shipped("lorenz").double(), truth(_fresh("lorenz", budget))
    start = u[0].double()
    with torch.no_grad():
        theirs: Any = odeint(model, start, t, method="dopri5", rtol=1e-6, atol=1e-6)
    ours = model.predict(start, t, nfe=8 * len(t)).u
    model.float()
    return Measurement("distance", float((ours - theirs).norm() / theirs.norm()), bar=1e-4, peer="torchdiffeq")


@claim("Lorenz runs backwards for a tenth of a unit of time", source=PAPER)
def lorenz_runs_backwards(budget: Budget) -> Measurement:
    """Relative error of the state 0.1 earlier; on average errors grow backwards like exp(14.57 t)."""
    rows = _backwards("lorenz", (0.05, 0.1, 0.2, 0.4), budget)
    return Measurement("relative error", rows[1]["error"], bar=1e-2, peer="reference solution", rows=rows)


@claim("Diffusion that is run backwards is reported as ill-posed", source="ours")
def ill_posedness_is_detected(budget: Budget) -> Measurement:
    """Diffusion-reaction, back by 1 unit of time: share of the reversals that warn, by the growth of perturbations."""
    rows = _backwards("diffusion-reaction", budget.pick((1.0,), (0.25, 0.5, 1.0)), budget)
    return Measurement("share that warn", float(rows[-1]["ill-posed"]), bar=1.0, better="higher", rows=rows)


@claim("Where frames are coarse there is nothing to learn from", source="ours")
def coarse_frames_fail(budget: Budget) -> Measurement:
    """The limit of the method: velocities of the best path through a quarter of Lorenz frames, by their spacing.

    A model can hardly be better than its labels. From a spacing of 0.04 on they are off by more than a fifth, and a
    map from frame to frame is the better choice.
    """
    rows = []
    for spacing in (0.005, 0.01, 0.02, 0.04):
        errors = label_errors(Lorenz(frame_spacing=spacing, duration=4.0), 0.25, n=budget.pick(4, 50), seed=budget.seed)
        rows.append({"spacing": spacing} | {row["kind"]: row["error"] for row in errors})
    best = min(value for name, value in rows[-1].items() if name != "spacing")
    return Measurement("relative error of labels", best, bar=0.2, better="higher", peer="right-hand side", rows=rows)


@claim("The learned shallow water keeps its mass", source="ours")
def mass_is_kept(budget: Budget) -> Measurement:
    """Largest relative change of the volume in a rollout; the network is not told of it, no water reaches the edge."""
    t, u = truth(_fresh("shallow-water", budget))
    volume = _shipped("shallow-water").predict(u[0], t).u[:, :, 0].double().sum(dim=(2, 3))
    return Measurement("largest change", float((volume / volume[0] - 1).abs().max()), bar=5e-3, peer="reference")


def _against(problem: str, peer: str, bar: float, budget: Budget) -> Measurement:
    errors = _errors(problem, budget)
    return Measurement(
        "ratio of errors", errors["flow"] / errors[peer], bar=bar, peer=f"map to the next {peer}", peer_value=1.0,
        rows=[{"model": name, "relative error": error} for name, error in errors.items()],
    )  # fmt: skip


@cache
def _errors(problem: str, budget: Budget) -> dict[str, float]:
    """Mean relative error of the shipped models, and of no change at all."""
    t, u = truth(_fresh(problem, budget))
    models: dict[str, Any] = {"flow": _shipped(problem), "state": _baseline(problem, "state")}
    if problem == "lorenz":
        models["increment"] = _baseline(problem, "increment")
        models["linear"] = FlowOperator.from_pretrained("lorenz-linear")
    errors = {name: float(relative_error(model.predict(u[0], t).u, u).mean()) for name, model in models.items()}
    return errors | {"persistence": float(relative_error(u[:1].expand_as(u), u).mean())}


@cache
def _fresh(problem: str, budget: Budget) -> Trajectories:
    n = budget.pick(*COUNTS[problem])
    return simulate(EXPERIMENTS[problem].problem, n, seed=SEED_OF_NO_SET + budget.seed).trajectories()


@cache
def _shipped(problem: str) -> FlowOperator:
    return FlowOperator.from_pretrained(problem)


@cache
def _baseline(problem: str, target: str) -> Autoregressive:
    return Autoregressive.from_pretrained(f"{problem}-{target}")


@cache
def _step_costs(budget: Budget) -> list[dict[str, Any]]:
    experiment, data = EXPERIMENTS["burgers"], _fresh("burgers", budget)
    models: dict[str, Any] = {
        "flow": build(experiment, "flow-quintic-25", 0),
        "state": build(experiment, "state-100", 0),
        "neural ODE, 1 segment": NeuralODE(experiment.backbone(), 1),
        "neural ODE, 10 segments": NeuralODE(experiment.backbone(), 1, window=10),
    }
    repeats = budget.pick(5, 50)
    return [{"model": name, "ms": step_cost(model, data, 16, repeats=repeats)} for name, model in models.items()]


def _backwards(problem: str, horizons: tuple[float, ...], budget: Budget) -> list[dict[str, Any]]:
    """Reversals from the last frame, by horizon."""
    t, u = truth(_fresh(problem, budget))
    rows = []
    for horizon in horizons:
        place = int(torch.argmin((t - (t[-1] - horizon)).abs()))
        times = torch.stack([t[-1], t[place]])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IllPosedReversal)
            back = _shipped(problem).reverse(u[-1], times)
        error = float(relative_error(back.u, torch.stack([u[-1], u[place]])).mean())
        row = {"back by": horizon, "error": error, "amplification": float(back.amplification[-1])}
        rows.append(row | {"ill-posed": back.ill_posed})
    return rows


def _error_against_time(problem: str, budget: Budget) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Errors and milliseconds per rollout: of the flow operator at several costs, and of the maps that ship."""
    test, model = _fresh(problem, budget), _shipped(problem)
    t, u = truth(test)
    model.predict(u[0], t[:5])  # the first call of a shape is slower
    curve = [
        {"problem": problem, "model": "flow", "evaluations per frame": cost, "error": error, "ms": spent}
        for cost, error, spent in error_against_evaluations(model, test, (0.25, 0.5, 0.75, 1.0))
    ]
    peers = []
    for target in ("state", "increment") if problem == "lorenz" else ("state",):
        rollout, spent = timed(lambda target=target: _baseline(problem, target).predict(u[0], t))
        error = float(relative_error(rollout.u, u).mean())
        row = {"problem": problem, "model": f"next {target}", "evaluations per frame": 1.0, "error": error}
        peers.append(row | {"ms": spent / u.shape[1]})
    return curve, peers
