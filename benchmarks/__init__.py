"""What is fast, measured: `make bench`. Also `python -m benchmarks.link_length`."""

import os

# One thread, as the app has; NumPy and PyTorch read these when they are imported.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
