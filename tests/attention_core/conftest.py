"""One thread for PyTorch, and the same examples for everyone on CI."""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # read once, when torch is imported

import torch
from hypothesis import settings

torch.set_num_threads(1)  # two threads make tiny models 20 to 30 times slower

settings.register_profile(
    "attention_core", deadline=None, max_examples=60, derandomize="CI" in os.environ
)
settings.load_profile("attention_core")
