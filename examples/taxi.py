"""Train Taxi, ask why at one state, draw the answer on the board, and write a page to question the agent with."""

from pathlib import Path

import whatfor as wf

run = wf.train(
    "Taxi-v4",
    wf.QLearning(step_size=0.4, discount=0.9, exploration=wf.linear(1.0, 0.1, episodes=250)),
    episodes=5_000,
    seed=0,
)
print(run)
print(run.evaluate(episodes=100))
print()

asked = "taxi at row 0, column 3; passenger at Y; destination R"
why = run.intention(asked)
print(why)

picture = Path("out/taxi.png")
picture.parent.mkdir(exist_ok=True)
wf.draw(why).savefig(picture, dpi=150)
print(f"\nThe belief on the board: {picture}")

page = Path("out/taxi.html")
run.report(page, states=[asked, 107, 269, 387])
print(f"Question it yourself, in a browser: {page}")
