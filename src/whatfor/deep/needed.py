"""What deep agents need beyond the library itself."""

from __future__ import annotations

from importlib import import_module


def need(module: str, name: str, extra: str = "deep") -> None:
    """Say how to install a package where it is missing."""
    try:
        import_module(module)
    except ImportError as error:
        raise ImportError(f"this needs {name}: pip install 'whatfor[{extra}]'") from error


def need_torch() -> None:
    """Say how to install PyTorch where it is missing."""
    need("torch", "PyTorch")


def need_sb3() -> None:
    """Say how to install Stable-Baselines3 where it is missing."""
    need("stable_baselines3", "Stable-Baselines3")
