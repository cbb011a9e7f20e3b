"""Marginals of random fields and bounds on log Z; one file for each method."""

from ._belief_propagation import TRBPMarginals
from ._choice import Inference
from ._display import MarginalsDisplay
from ._estimator import MarginalsEstimator
from ._exact import ExactMarginals
from ._fields import FactorGraph, PairwiseMRF
from ._files import load_bif, load_uai, save_bif, save_uai
from ._frank_wolfe import BarrierFrankWolfe
from ._learning import LearnedMRF, MRFLearner
from ._mean_field import MeanFieldMarginals
from ._mini_buckets import MiniBucketMarginals
from ._objective import trw_objective
from ._perturb_and_map import PerturbAndMAPMarginals
from ._spanning_trees import spanning_tree_probabilities
from ._trw import TRWMarginals

__all__ = [
    "BarrierFrankWolfe",
    "ExactMarginals",
    "FactorGraph",
    "Inference",
    "LearnedMRF",
    "MRFLearner",
    "MarginalsDisplay",
    "MarginalsEstimator",
    "MeanFieldMarginals",
    "MiniBucketMarginals",
    "PairwiseMRF",
    "PerturbAndMAPMarginals",
    "TRBPMarginals",
    "TRWMarginals",
    "load_bif",
    "load_uai",
    "save_bif",
    "save_uai",
    "spanning_tree_probabilities",
    "trw_objective",
]
