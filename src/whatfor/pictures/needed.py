"""What pictures need beyond the library itself."""


def need_matplotlib() -> None:
    """Say how to install Matplotlib where it is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("pictures need Matplotlib: pip install 'whatfor[plot]'") from error
