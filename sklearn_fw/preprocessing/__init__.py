"""Transformers of the nodes of structured samples."""

from ._nodes import NodeTransformer
from ._templates import tagging_templates
from ._token_features import TokenFeatures, crfsuite_chunking_attributes

__all__ = ["NodeTransformer", "TokenFeatures", "crfsuite_chunking_attributes", "tagging_templates"]
