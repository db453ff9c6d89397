"""The types of the arrays of a class's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
AnyNumbers = NDArray[Any]
Counts = NDArray[np.int16]
Indexes = NDArray[np.int64]
Truths = NDArray[np.bool_]
