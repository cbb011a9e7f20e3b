"""The one place that touches scikit-learn's callbacks, which are experimental and new in 1.9."""

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    HAS_CALLBACKS = True
except ImportError:  # scikit-learn before 1.9
    HAS_CALLBACKS = False

    class CallbackSupportMixin:
        """Stand-in whose error names the missing version of scikit-learn."""

        def set_callbacks(self, *callbacks):
            raise NotImplementedError("callbacks need scikit-learn 1.9 or newer")

    def with_callbacks(method):
        return method


class FitTasks:
    """The tasks of one fit as callbacks see them: the fit itself and its passes."""

    def __init__(self, estimator, X, y, *, max_subtasks, sample_weight=None):
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._call = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self._root = None
        # Without callbacks the tree of tasks would be built for nobody.
        if HAS_CALLBACKS:
            self._root = estimator._init_callback_context(max_subtasks=max_subtasks)
            self._root.call_on_fit_task_begin(**self._call)
        self._task = None

    def begin(self):
        if self._root is not None:
            self._task = self._root.subcontext(task_name="pass")
            self._task.call_on_fit_task_begin(**self._call)

    def end(self, attributes):
        """Report a pass; returns True when a callback asks to stop.

        ``attributes()`` returns the current fitted attributes and is called only if needed.
        """
        if self._root is None:
            return False
        return self._task.call_on_fit_task_end(**self._call, reconstruction_attributes=attributes)

    def hooks(self, attributes):
        """`begin` and `end` as keyword arguments of `drive`."""
        return {"begin": self.begin, "end": lambda: self.end(attributes)}

    def finish(self):
        if self._root is not None:
            self._root.call_on_fit_task_end(**self._call, reconstruction_attributes=dict)
