"""Transformers of the nodes of structured samples."""

from ._nodes import NodeTransformer
from ._templates import tagging_templates
from ._token_features import ChunkingFeatures, TokenFeatures, crfsuite_chunking_attributes

__all__ = [
    "ChunkingFeatures",
    "NodeTransformer",
    "TokenFeatures",
    "crfsuite_chunking_attributes",
    "tagging_templates",
]
