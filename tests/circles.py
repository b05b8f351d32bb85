"""A world in which a good policy goes in a circle."""

import whatfor as wf

#: Two states in a circle; leaving it costs 50.
CIRCLE = wf.worlds.table(
    next_state=[[1, 2], [0, 2], [2, 2]],
    reward=[[-0.1, -50.0], [-0.1, -50.0], [0.0, 0.0]],
    terminated=[[False, True], [False, True], [True, True]],
    start=[1.0, 0.0, 0.0],
    max_steps=50,
)
