"""What tests of networks need."""

import pytest


@pytest.fixture
def torch(extra):
    return extra("torch", "torch")
