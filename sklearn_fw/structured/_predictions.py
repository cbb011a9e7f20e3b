"""What a fitted structured SVM predicts, and how good that is."""

import numpy as np
from sklearn.utils import ClassifierTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._core.validation import check_data, check_sample_weight, is_named
from .._core.warnings import warn_of_scorer
from ._items import collect, length_of
from ._models import MulticlassModel, MultilabelModel
from ._models._hidden_states import labelled
from ._models._pairwise import has_parts
from ._problems._checked_model import CheckedModel


def _is_multiclass(estimator):
    model = labelled(getattr(estimator, "model_", estimator.model))
    if isinstance(model, MulticlassModel) or (is_named(model, "auto", "multiclass")):
        return True
    raise AttributeError("decision_function exists for multiclass models only; see score_samples")


class Predictions:
    """Mixin of `StructuredSVM`: from its weights to outputs, scores and losses."""

    def _check_X(self, X):
        if not hasattr(self, "coef_"):  # the check of scikit-learn costs more than a sentence
            check_is_fitted(self)
        if is_tabular(self.model_):
            X = check_data(
                self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32]
            )
        return X

    def _predict(self, X):
        """Outputs, and their scores where they come for free."""
        X = self._check_X(X)
        if has_parts(self.model_):
            return self.model_._predict(X, self.coef_, self._own_oracle())
        coef = self._dense_coef()
        model = CheckedModel(self.model_, self.oracle_)
        return collect([model.predict(i, x, coef) for i, x in enumerate(X)]), None

    def predict(self, X):
        """Outputs of highest score.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_labels)
            Labels; an object array of label arrays for sequences.
        """
        outputs = self._predict(X)[0]
        warn_of_scorer(outputs)
        return outputs

    def score_samples(self, X):
        """Score of the predicted output of every sample.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            ``max_y <coef_, phi(x, y)>``.
        """
        outputs, scores = self._predict(X)
        if scores is None:  # a black-box model
            model, coef = CheckedModel(self.model_), self._dense_coef()
            pairs = enumerate(zip(X, outputs, strict=True))
            scores = [model.score(i, x, y, coef) for i, (x, y) in pairs]
        return np.asarray(scores)

    @available_if(_is_multiclass)
    def decision_function(self, X):
        """Scores of the classes.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            One column per class; for two classes the score of the second minus the first.
        """
        X = self._check_X(X)
        scores = self.model_.decision_function(X, self.coef_)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def loss(self, X, y):
        """Task loss of the prediction of every sample.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.
        y : array-like, list, object array or Packed of n_samples outputs
            True outputs.

        Returns
        -------
        losses : ndarray of shape (n_samples,)
            Losses, in the units of the model's ``task_loss``; without class weights.
        """
        predicted = self.predict(X)
        if len(predicted) != length_of(y, "y"):
            raise ValueError(
                f"X and y must have the same length, got {len(predicted)} and {length_of(y, 'y')}"
            )
        if has_parts(self.model_):
            return self.model_._losses(y, predicted, X=X)
        pairs = enumerate(zip(y, predicted, strict=True))
        model = CheckedModel(self.model_)
        return np.array([model.loss_between(i, a, b) for i, (a, b) in pairs])

    def score(self, X, y, sample_weight=None):
        """One minus the mean task loss; for class labels the accuracy.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.
        y : array-like, list, object array or Packed of n_samples outputs
            True outputs.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the mean.

        Returns
        -------
        score : float
            At most 1; larger is better.
        """
        losses = self.loss(X, y)
        return float(
            1.0 - np.average(losses, weights=check_sample_weight(sample_weight, len(losses)))
        )

    def feature_weights(self):
        """The weights by name.

        Returns
        -------
        weights : dict of str to ndarray
            For chains "features", "start", "end" and "transitions"; see ``unpack`` of the model.
        """
        check_is_fitted(self)
        if not hasattr(self.model_, "unpack"):
            raise AttributeError(f"{type(self.model_).__name__} has no method unpack: see coef_")
        return self.model_.unpack(self._dense_coef())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        model = labelled(getattr(self, "model_", self.model))
        if isinstance(model, MulticlassModel) or (is_named(model, "auto", "multiclass")):
            _tag_as_classifier(tags, multi_label=False)
        elif isinstance(model, MultilabelModel) or (is_named(model, "multilabel")):
            _tag_as_classifier(tags, multi_label=True)
        else:
            # Never a classifier for scikit-learn: it would stratify by whole sequences.
            tags.input_tags.two_d_array = tags.target_tags.single_output = False
        return tags


def _tag_as_classifier(tags, multi_label):
    tags.estimator_type = "classifier"
    tags.classifier_tags = ClassifierTags(multi_label=multi_label)
    tags.target_tags.single_output = not multi_label
    tags.target_tags.multi_output = multi_label


def is_tabular(model):
    """Whether a sample is one row."""
    return isinstance(labelled(model), MulticlassModel | MultilabelModel)
