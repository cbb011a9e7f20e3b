"""The order of the examples in each group of the gallery: the strongest first."""

ORDER = [
    "plot_tagging_text", "plot_digit_words", "plot_graph_cut", "plot_stick_figures",
    "plot_word_alignment", "plot_multilabel_tree", "plot_hidden_states", "plot_missing_labels",
    "plot_network_scores", "plot_snakes", "plot_reliability", "plot_regularization_path",
    "plot_model_selection", "plot_graph_solvers", "plot_convergence", "plot_smoothing_the_max",
    "plot_calibration", "plot_custom_model", "plot_custom_oracle", "plot_custom_loss",
    "plot_custom_solver",
    "plot_stereo", "plot_inpainting", "plot_certified_marginals", "plot_learned_table",
    "plot_parity_checks",
    "plot_certified_gap", "plot_group_lasso", "plot_badly_scaled", "plot_cluster",
    "plot_colocalization", "plot_matrix_completion", "plot_minimum_cut", "plot_frank_wolfe_paths",
    "plot_relative_novelty", "plot_density_contours", "plot_mislabeled_digits", "plot_fantasy",
    "plot_topics", "plot_docstrings",
    "plot_films", "plot_script_of_digits", "plot_bounds_and_evidence", "plot_learning_to_search",
    "plot_memorization", "plot_boxes_and_labels", "plot_ordered_and_censored",
]  # fmt: skip


def place(filename):
    """Sort key of sphinx-gallery."""
    name = filename.removesuffix(".py")
    if name not in ORDER:
        raise ValueError(f"add {name} to the examples of docs/_gallery.py")
    return ORDER.index(name)
