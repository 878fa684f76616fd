"""Articles of clothing in the layout of MNIST (Xiao, Rasul, Vollgraf 2017)."""

from featavg.data.idx import ARCHIVES, decode, idx_files
from featavg.data.image_set import ImageSet, Package

SET = ImageSet(
    name="fashion-mnist",
    shape=(28, 28),
    class_names=("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"),
    decode=decode,
    train=idx_files(
        60_000,
        "train",
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    ),
    test=idx_files(
        10_000,
        "t10k",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
    mirrors=("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
    archives=ARCHIVES,
    package=Package("apt-get", "dataset-fashion-mnist"),
)
