"""
Dynamics from snapshots, at any time
====================================

Snapshots of a simulation lie at whatever times they were written. A network is fitted to the velocity of smooth paths
through them; what comes out is an ordinary differential equation, which can be asked at any time, by any solver.
"""

import tempfile

import matplotlib.pyplot as plt
import torch
from torchdiffeq import odeint

from firstlight.pde.flow import MLP, FlowOperator, TemporalSpline, fit, relative_error
from firstlight.pde.flow.problems import Burgers, DiffusionReaction, Lorenz, simulate

torch.manual_seed(0)

# %%
# Training data: Lorenz's system, and of each trajectory a quarter of the frames, at random times of its own.

train = simulate(Lorenz(), 100, seed=0).trajectories().subsample(0.25, seed=0)
valid = simulate(Lorenz(), 4, seed=1).trajectories()
first = ", ".join(f"{float(t):.3f}" for t in train.t[0][:4])
print(f"{len(train)} trajectories of {len(train.t[0])} frames, the first at t = {first}, …")

# %%
# The labels are velocities of a path. Nobody knows how good they are before training, but two paths of different
# order know how far they disagree.

path = TemporalSpline.fit(train.t, train.u, kind="quintic")
print(
    f"typical velocity {float(path.sample(1000).v.square().mean().sqrt()):.1f}, "
    f"typical error of a label {float(path.label_error_estimate().median()):.2f}"
)

# %%
# A few hundred steps of training. No solver is differentiated through; a step costs what a step of a map from frame to
# frame would.

model = FlowOperator(MLP(3), channels=3, grid=())
with tempfile.TemporaryDirectory() as folder:
    fit(
        model,
        train,
        valid,
        folder=f"{folder}/run",
        steps=600,
        batch_size=256,
        steps_per_epoch=300,
        enable_progress_bar=False,
    )

# %%
# The same network as it ships, trained for longer. It *is* a function for ``torchdiffeq.odeint``; ``predict`` does the
# same with fixed steps and counts them.

shipped = FlowOperator.from_pretrained("lorenz")
t, u = valid.t[0], torch.stack(valid.u, dim=1)
for name, one in (("600 steps", model), ("shipped", shipped)):
    print(f"{name}: relative error over 2 units of time {float(relative_error(one.predict(u[0], t).u, u).mean()):.3f}")
with torch.no_grad():
    adaptive = torch.as_tensor(odeint(shipped, u[0], t, method="dopri5", rtol=1e-6, atol=1e-6))
print(f"torchdiffeq and predict differ by {float(relative_error(shipped.predict(u[0], t).u, adaptive).max()):.0e}")

# %%
# Burgers' equation, a trajectory that no model has seen. The question is asked at times that no frame had.

burgers = FlowOperator.from_pretrained("burgers")
times = torch.linspace(0, 1, 72, dtype=torch.float64)
truth = simulate(Burgers(), 1, seed=108, times=times.numpy()).trajectories()
rollout = burgers.predict(truth.u[0][:1], times)

figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained", sharey=True)
fields = (truth.u[0][:, 0], rollout.u[:, 0, 0], rollout.u[:, 0, 0] - truth.u[0][:, 0])
for ax, field, name in zip(axes, fields, ("solver", "model", "difference × 20"), strict=True):
    scale = 20 if name.startswith("difference") else 1
    limit = float(truth.u[0].abs().max())
    image = ax.imshow(
        scale * field, extent=(0, 1, 0, 1), origin="lower", aspect="auto", cmap="PuOr", vmin=-limit, vmax=limit
    )
    ax.set(xlabel=f"x ({name})")
axes[0].set_ylabel("t")
figure.colorbar(image, ax=axes, label="u")
plt.show()

# %%
# A reaction with diffusion in two dimensions, from noise to spots.

reaction = FlowOperator.from_pretrained("diffusion-reaction")
spots = simulate(DiffusionReaction(), 1, seed=99).trajectories()
rollout = reaction.predict(spots.u[0][:1], spots.t[0])
figure, axes = plt.subplots(2, 4, figsize=(9, 4.6), layout="constrained", sharex=True, sharey=True)
for column, frame in enumerate((0, 9, 39, 99)):
    for row, (field, name) in enumerate(((spots.u[0][frame], "solver"), (rollout.u[frame, 0], "model"))):
        image = axes[row, column].imshow(field[0].T, origin="lower", cmap="PuOr", vmin=-1.2, vmax=1.2)
        axes[row, column].set(xticks=[], yticks=[])
        if not column:
            axes[row, column].set_ylabel(name)
    axes[1, column].set_xlabel(f"t = {float(spots.t[0][frame]):.2f}")
figure.colorbar(image, ax=axes, label="activator")
plt.show()

# %%
# Backwards, diffusion amplifies every error. The model says so before anybody believes the answer.

past = reaction.reverse(spots.u[0][-1:], torch.stack([spots.t[0][-1], spots.t[0][-21]]))
print(f"errors grow {past.amplification[-1]:.1g}-fold on the way back; ill-posed: {past.ill_posed}")

# %%
# How much accuracy does a second of computing buy? Fewer evaluations than frames are enough.

test = simulate(Burgers(), 8, seed=98).trajectories()
t, u = test.t[0], torch.stack(test.u, dim=1)
ax = plt.figure(figsize=(6, 4), layout="constrained").subplots()
curves = {
    "Runge-Kutta": [burgers.predict(u[0], t, method="rk4", nfe=nfe) for nfe in (16, 25, 50, 100, 200)],
    "Adams-Bashforth": [burgers.predict(u[0], t, method="ab4", nfe=nfe) for nfe in (20, 25, 50, 100, 200)],
}
for name, rollouts in curves.items():
    errors = [float(relative_error(rollout.u, u).mean()) for rollout in rollouts]
    ax.semilogy([rollout.evaluations for rollout in rollouts], errors, "o-", label=name)
ax.axvline(len(t) - 1, color="0.6", linestyle=":", label="one per frame")
ax.set(xlabel="evaluations of the network", ylabel="relative L² error")
ax.legend(frameon=False)
plt.show()
