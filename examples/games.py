"""
Leduc poker, solved and proved
==============================

A game of OpenSpiel goes in, strategies come out, with bounds on its value that trust no solver.
"""

import pyspiel
from matplotlib import pyplot as plt

from firstlight.games import CFRSolver, FlatGame

# %%
# Leduc poker has 9,457 nodes. Lay it flat once; every solver then works on the same arrays.

game = FlatGame.from_openspiel(pyspiel.load_game("leduc_poker"))
print(f"{len(game.tree):,} nodes, {sum(map(len, game.tree.information_sets)):,} information sets")

# %%
# Solve it until the strategies can be exploited by at most 0.00001 chips a hand. There is no step size to choose.

solver = CFRSolver(game)
equilibrium = solver.run(target=1e-5)
print(f"{equilibrium.iterations:,} iterations, exploitability {equilibrium.exploitability:.2g}")

# %%
# How do we know? Best responses of both players enclose the value of the game, whatever found the strategies.
# A linear program, which is another road to the same number, must land inside.

lowest, highest = equilibrium.value_bounds
exact = game.lp_solve().value
print(f"{lowest:.7f} ≤ {exact:.7f} ≤ {highest:.7f}")
assert lowest <= exact <= highest

# %%
# The strategies go back to OpenSpiel, which measures the same exploitability.

policy = equilibrium.profile.to_pyspiel()
print(pyspiel.exploitability(pyspiel.load_game("leduc_poker"), policy))

# %%
# Every method of the package runs on the same game. CFR+ and its predictive relative PCFR+ are the usual ones.

ax = equilibrium.plot()
for method, colour in (("pcfr+", "#009E73"), ("cfr+", "#CC79A7")):
    course = CFRSolver(game, method).run(equilibrium.iterations)
    ax.loglog(course.checked_at, course.exploitabilities, color=colour, label=method)
ax.legend(frameon=False)
plt.show()
