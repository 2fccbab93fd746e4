"""Everything that needs PyTorch; nothing imports this before its page is opened.

Source of the library's behaviour: the reference of PyTorch 2.13.
"""

import os

# Two threads make models of this size 20 to 30 times slower than one; this must be set before
# the library is loaded, and again in each thread, since OpenMP keeps the number per thread.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

torch.set_num_threads(1)
