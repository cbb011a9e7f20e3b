"""Where the files of the user are, and where they come from."""

import os
from contextlib import contextmanager
from typing import NamedTuple

from .._core.files import check_path

VARIABLE = "SKLEARN_FW_DATA"


class Origin(NamedTuple):
    """Source, terms and checksums of the files of a data set, for errors and descriptions."""

    source: str
    terms: str
    checksums: dict  # SHA-256 of the files that the loader was tested with, by name
    help: str = "nothing is downloaded"

    def __str__(self):
        lines = [
            f"Source: {self.source}",
            f"Terms: {self.terms}",
            "SHA-256 of the files that the loader was tested with:",
        ]
        lines += [f"  {digest}  {name}" for name, digest in self.checksums.items()]
        return "\n".join(lines) + "\n"

    @contextmanager
    def explains(self):
        """Add all this to errors about damaged files; those about absent ones have it."""
        try:
            yield
        except ValueError as error:
            error.add_note(str(self))
            raise


def find_file(data_home, names, *, what, origin=None):
    """Return the path of the first of ``names`` that exists in a folder.

    None for ``data_home`` means the folder named by ``SKLEARN_FW_DATA``; ``what`` the file holds
    and the `Origin` where to get it are for the error.
    """
    wanted = ", ".join(names)
    advice = "nothing is downloaded" if origin is None else f"{origin.help}\n{origin}"
    if data_home is None:
        data_home = os.environ.get(VARIABLE)
        if not data_home:
            raise FileNotFoundError(
                f"no folder to look for {what} in: pass data_home= or set the environment "
                f"variable {VARIABLE} to a folder that holds one of {wanted}; {advice}"
            )
    home = check_path(data_home, "data_home")
    for name in names:
        if (home / name).is_file():
            return home / name
    raise FileNotFoundError(
        f"{home} holds no file of {what}: looked for {wanted}; put one of them there or pass "
        f"another data_home=; {advice}"
    )
