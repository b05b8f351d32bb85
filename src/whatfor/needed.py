"""Checks that optional dependencies are installed."""

from __future__ import annotations

import os
from importlib import import_module


def need(module: str, name: str, extra: str) -> None:
    """Raise ``ImportError`` with the install command if a package is missing."""
    try:
        import_module(module)
    except ImportError as error:
        raise ImportError(f"this needs {name}: pip install 'whatfor[{extra}]'") from error


def need_matplotlib() -> None:
    """Matplotlib draws the pictures."""
    need("matplotlib", "Matplotlib", "plot")


def need_minigrid() -> None:
    """Importing MiniGrid registers its worlds with Gymnasium."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # it would be printed between the answers
    need("minigrid", "MiniGrid", "minigrid")


def need_torch() -> None:
    """PyTorch runs the belief networks."""
    need("torch", "PyTorch", "deep")


def need_sb3() -> None:
    """Stable-Baselines3 trains the deep agents."""
    need("stable_baselines3", "Stable-Baselines3", "deep")


def need_safetensors() -> None:
    """safetensors stores the networks."""
    need("safetensors", "safetensors", "deep")


def need_server() -> None:
    """Starlette and uvicorn serve the live explorer."""
    need("starlette", "Starlette", "explore")
    need("uvicorn", "uvicorn", "explore")
