"""Transformers of the nodes of structured samples."""

from ._nodes import NodeTransformer
from ._token_templates import ChunkingFeatures, crfsuite_chunking_attributes

__all__ = ["ChunkingFeatures", "NodeTransformer", "crfsuite_chunking_attributes"]
