"""PyTorch, imported at its first use only."""


def import_torch(who):
    """The library, or what to install for it; ``who`` needs it."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f"{who} needs PyTorch, which is not installed: run pip install torch"
        ) from error
    return torch


def is_torch_module(model):
    """Whether an object is a ``torch.nn.Module``, without an import of torch."""
    return any(
        base.__module__.split(".")[0] == "torch" and base.__name__ == "Module"
        for base in type(model).__mro__
    )
