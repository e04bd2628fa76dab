"""The data files of the multilingual models; those of the model itself are checked by digest."""

from pathlib import Path

FOLDER = Path(__file__).parent
WEIGHTS = "weights.safetensors"
VOCABULARY = "vocab.txt"
E5_INTO_ENGLISH = "e5_into_english.npz"
USE_INTO_ENGLISH = "use_into_english.npz"

DIGESTS = {
    WEIGHTS: "81cd1a19c4a4c766ed272aae6beb472993d9e864c9d3a593a27597b6c3166d37",
    VOCABULARY: "24c62e726dab91318924a94a1d2b6f1aa1e0778b310db0bcba28f62f7f7a7a18",
}
"""SHA-256 of each data file. `convert` refuses to write anything else."""
