"""The data files of the multilingual model, checked by digest."""

from pathlib import Path

FOLDER = Path(__file__).parent
WEIGHTS = "weights.safetensors"
VOCABULARY = "vocab.txt"
INTO_ENGLISH = "into_english.npz"

DIGESTS = {
    WEIGHTS: "eac2bf250c9a2b8930622e4211dd2650d7be585bb1ba0ad05b34c017e91e0760",
    VOCABULARY: "d3e095ab2b2b44cd254b392406ce0e5564ec660de1c6fdbc1b2906fa806a847c",
}
"""SHA-256 of each data file. `convert` refuses to write anything else."""
