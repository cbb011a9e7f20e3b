"""Marginals of random fields and bounds on log Z; one file for each method."""

from ._belief_propagation import LoopyBPMarginals, TRBPMarginals
from ._choice import Inference
from ._display import MarginalsDisplay
from ._estimator import MarginalsEstimator
from ._exact import ExactMarginals
from ._fields import FactorGraph, PairwiseMRF
from ._files import load_bif, load_uai, save_bif, save_uai
from ._frank_wolfe import BarrierFrankWolfe
from ._learning import LearnedMRF, MRFLearner
from ._map import MAPResult
from ._mean_field import MeanFieldMarginals
from ._mini_buckets import MiniBucketMarginals
from ._objective import edge_mutual_information, trw_gradient, trw_objective
from ._perturb_and_map import PerturbAndMAPMarginals
from ._spanning_trees import matrix_tree_edge_probabilities, sampled_edge_probabilities
from ._trw import TRWMarginals
from ._uai import read_uai_evidence, read_uai_solution, save_uai_evidence, save_uai_solution

__all__ = [
    "BarrierFrankWolfe",
    "ExactMarginals",
    "FactorGraph",
    "Inference",
    "LearnedMRF",
    "LoopyBPMarginals",
    "MAPResult",
    "MRFLearner",
    "MarginalsDisplay",
    "MarginalsEstimator",
    "MeanFieldMarginals",
    "MiniBucketMarginals",
    "PairwiseMRF",
    "PerturbAndMAPMarginals",
    "TRBPMarginals",
    "TRWMarginals",
    "edge_mutual_information",
    "load_bif",
    "load_uai",
    "matrix_tree_edge_probabilities",
    "read_uai_evidence",
    "read_uai_solution",
    "sampled_edge_probabilities",
    "save_bif",
    "save_uai",
    "save_uai_evidence",
    "save_uai_solution",
    "trw_gradient",
    "trw_objective",
]
