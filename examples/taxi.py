"""Train Taxi, explain the action in one state, draw the answer on the board, and write an interactive page."""

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

state = "taxi at row 0, column 3; passenger at Y; destination R"
why = run.intention(state)
print(why)

picture = Path("out/taxi.png")
picture.parent.mkdir(exist_ok=True)
wf.draw(why).savefig(picture, dpi=150)
print(f"\nThe belief on the board: {picture}")

page = Path("out/taxi.html")
run.report(page, states=[state, 107, 269, 387])
print(f"Explore it in a browser: {page}")
