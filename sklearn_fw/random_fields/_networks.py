"""Bayesian networks and factor graphs of other packages and files as random fields."""

from .._files import check_path

__all__ = ["Networks"]


class Networks:
    """Conversions of `FactorGraph`, which inherits them."""

    @classmethod
    def from_uai(cls, path, evidence=None):
        """Read a file of the UAI inference competitions.

        Parameters
        ----------
        path : str or path
            File with the preamble MARKOV or BAYES, see `load_uai`.
        evidence : str, path or dict of int to int, default=None
            Evidence file or observed states: the result is `condition` on them.

        Returns
        -------
        field : PairwiseMRF or FactorGraph
            The random field; a `PairwiseMRF` where no factor is on more than two variables.

        Raises
        ------
        ValueError
            When the file is malformed, and the message names the line; or `PairwiseMRF` is asked
            for one with larger factors.
        """
        from ._uai import load_uai, read_uai_evidence

        mrf = load_uai(path)
        if not isinstance(mrf, cls._base):
            raise ValueError(
                f"{path} has a factor on {max(map(len, mrf.scopes))} variables, and PairwiseMRF "
                f"takes pairs: use FactorGraph.from_uai"
            )
        if evidence is None:
            return mrf
        if not isinstance(evidence, dict):
            evidence = read_uai_evidence(check_path(evidence, "evidence"))
            if not isinstance(evidence, dict):
                raise ValueError(
                    "evidence holds several samples: read them with read_uai_evidence and call "
                    "condition for each"
                )
        return mrf.condition(evidence) if evidence else mrf

    def to_uai(self, path):
        """Write a file of the UAI format, from which `from_uai` reads the same numbers.

        Parameters
        ----------
        path : str or path
            File to write.
        """
        from ._uai import save_uai

        save_uai(self, path)
