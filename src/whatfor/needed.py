"""What parts of the library need beyond it, and how to install that."""

from __future__ import annotations

from importlib import import_module


def need(module: str, name: str, extra: str) -> None:
    """Say how to install a package where it is missing."""
    try:
        import_module(module)
    except ImportError as error:
        raise ImportError(f"this needs {name}: pip install 'whatfor[{extra}]'") from error


def need_matplotlib() -> None:
    """For pictures."""
    need("matplotlib", "Matplotlib", "plot")


def need_torch() -> None:
    """For belief networks."""
    need("torch", "PyTorch", "deep")


def need_sb3() -> None:
    """For the agents that they learn beside."""
    need("stable_baselines3", "Stable-Baselines3", "deep")


def need_safetensors() -> None:
    """For keeping them."""
    need("safetensors", "safetensors", "deep")


def need_server() -> None:
    """For the live explorer."""
    need("starlette", "Starlette", "explore")
    need("uvicorn", "uvicorn", "explore")
