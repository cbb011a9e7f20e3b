"""The dual problem of a structured SVM, one block of variables per sample."""
