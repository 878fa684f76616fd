"""diagnose and refine as a user meets them: files in; verdict, page, JSON and model out; one sentence on bad input."""

import csv
import json
import pickle
import re

import numpy as np
import pytest
import torch
from PIL import Image

import featavg as fa
from featavg.cli import main
from featavg.data import dataset, open_data, sublabels_of
from featavg.deep import ResNet18, SmallCNN, as_torch, channels_first, save_weights
from featavg.record.words import number
from featavg.refine import inputs_for, open_model


@pytest.fixture
def featavg(tmp_path, monkeypatch, capsys):
    """Run a command line in an empty folder; returns exit code, output and error stream."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        return caught.value.code or 0, *capsys.readouterr()

    return run


def without_progress(errors):
    """The lines on the error stream that do not tell how far a command is, which outside a terminal some do."""
    return [line for line in errors.splitlines() if not re.match(r"\d+ %: ", line)]


def blobs(samples=160, seed=0):
    """Four clouds in five dimensions; opposite corners share a class."""
    rng = np.random.default_rng(seed)
    corner = rng.integers(2, size=(samples, 2))
    x = rng.normal(size=(samples, 5))
    x[:, :2] += 8 * corner
    names = np.array([["south-west", "north-west"], ["south-east", "north-east"]])
    return x, np.where(corner.sum(axis=1) == 1, "mixed", "pure"), names[corner[:, 0], corner[:, 1]]


def write_csv(path, x, y, header=("label",)):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{i}" for i in range(x.shape[1])), *header])
        writer.writerows([*row, label] for row, label in zip(x, y, strict=True))


def write_npz(path, x, y, **more):
    np.savez(path, x=x, y=y, **more)


def test_refine_on_some_concepts_leaves_a_model_that_predicts_a_page_and_numbers(featavg, tmp_path):
    x, y, fine = blobs()
    write_csv("points.csv", x, y)
    (tmp_path / "where.csv").write_text(
        "where\n" + "".join(f"{name if i % 3 else ''}\n" for i, name in enumerate(fine))
    )
    code, output, errors = featavg(
        "refine", "points.csv", "-o", "model.npz", "--sublabels", "where.csv", "-p", "page.html", "--json", "all.json"
    )
    said = "read 160 rows, 5 columns (x0, x1, x2, …), classes mixed 77, pure 83, with 4 sub-labels"
    assert (code, without_progress(errors)) == (0, [said])
    assert {path.name for path in tmp_path.iterdir()} == {
        "points.csv", "where.csv", "model.npz", "page.html", "all.json"
    }  # fmt: skip
    found = json.loads((tmp_path / "all.json").read_text())
    assert output.startswith(found["verdict"])
    assert "model: model.npz\npage: page.html" in output
    assert number(found["median"][1]) in output
    assert found["proved"]
    assert found["held_out"] == 96  # three fifths, each held out once
    page = (tmp_path / "page.html").read_text()
    assert "<svg" in page
    assert "http:" not in page
    assert "https:" not in page
    model = fa.load_classifier("model.npz")
    assert sorted(model.subclass_names_) == sorted(set(fine))
    fresh_x, fresh_y, fresh_fine = blobs(seed=1)
    assert model.score(fresh_x, fresh_y) == 1.0
    assert np.array_equal(model.predict_subclass(fresh_x), fresh_fine)
    assert np.array_equal(fa.load_network("model.npz").weights, model.network_.weights)


def test_digits_from_coarse_labels_to_a_refined_model_and_its_diagnosis(featavg, tmp_path):
    code, output, _ = featavg("refine", "digits", "-o", "model.safetensors", "--subclasses", "2")
    assert code == 0
    assert "Sub-classes of each class, at most: 2, 2." in output
    code, output, errors = featavg(
        "diagnose", "model.safetensors", "digits", "--json", "all.json", "-o", "sub/page.html"
    )
    said = "read 360 rows, images of 8 x 8 pixels, classes -1 180, 1 180"
    assert (code, without_progress(errors)) == (0, [said])
    found = json.loads((tmp_path / "all.json").read_text())
    assert output.startswith(found["verdict"])
    assert output.endswith("page: sub/page.html\n")
    test = fa.load_images("digits", "test")
    assert found["points"] == len(test)
    assert found["accuracy"] == fa.load_classifier("model.safetensors").score(test.x, test.y)
    assert found["verdict"] in (tmp_path / "sub" / "page.html").read_text()


def test_a_state_dict_is_diagnosed_with_its_architecture(featavg, tmp_path):
    x, y, fine = blobs()
    write_npz("points.npz", x, y, sublabels=fine)
    network = fa.as_network((np.eye(5)[:2], [-4.0, -4.0], [[1.0, 1.0]], [-2.0]))
    torch.save(as_torch(network).state_dict(), "net.pt")
    fa.save_network(network, "net.npz")
    featavg("diagnose", "net.pt", "points.npz", "--architecture", "two-layer", "--json", "torch.json")
    code, output, _ = featavg("diagnose", "net.npz", "points.npz", "--json", "plain.json")
    assert code == 0
    assert re.search(r"sub-classes of each class, given +2 of \S+, 2 of", output)
    ours, theirs = (json.loads((tmp_path / name).read_text()) for name in ("plain.json", "torch.json"))
    np.testing.assert_allclose(ours["attack"], theirs["attack"], rtol=1e-5)


def test_image_architectures_are_built_to_the_size_of_their_weights(tmp_path):
    rng = np.random.default_rng(0)
    images = rng.random((6, 8, 9, 3))
    network = SmallCNN(2, shape=(3, 8, 9), hidden=12, seed=1)
    torch.save({"state_dict": network.state_dict()}, tmp_path / "cnn.pth")
    narrow = ResNet18(3, width=2, mean=(0.5,) * 3, std=(0.2,) * 3, seed=1)
    save_weights(narrow, tmp_path / "narrow.safetensors")
    for file, name, module in (
        ("cnn.pth", "small-cnn", network),
        ("narrow.safetensors", "resnet18", narrow),
    ):
        read = open_model(tmp_path / file, name, (8, 9, 3)).eval()
        points = inputs_for(read, dataset(images.reshape(6, -1), [0, 1] * 3, shape=(8, 9, 3)))
        assert torch.equal(points, channels_first(images))
        with torch.no_grad():
            torch.testing.assert_close(read(points.float()), module.eval()(points.float()))


def test_images_in_folders_are_read_with_their_sub_folders_as_sub_labels(tmp_path):
    for place, colour in (("cat/tom", 10), ("cat/siam", 90), ("dog/pug", 200), ("dog/lab", 255)):
        (tmp_path / place).mkdir(parents=True)
        Image.fromarray(np.full((4, 5), colour, dtype=np.uint8)).save(tmp_path / place / "a.png")
    data = open_data(str(tmp_path))
    assert data.shape == (4, 5)
    assert [name.split("/")[-1] for name in sublabels_of(data)] == ["siam", "tom", "lab", "pug"]
    assert open_data(str(tmp_path), sublabels="none").fine is None


def test_built_in_sets_have_tasks_and_the_class_as_sub_label():
    data = open_data("digits", sublabels="class", task="0,1,2", part="test")
    assert np.array_equal(data.y == 1, np.isin(sublabels_of(data), ["0", "1", "2"]))
    assert open_data("digits").fine is None


def test_an_interrupted_run_leaves_what_was_there(featavg, tmp_path, monkeypatch):
    write_csv("points.csv", *blobs()[:2])
    (tmp_path / "model.npz").write_text("old")

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("featavg.refine.refine_points", interrupt)
    code, output, errors = featavg("refine", "points.csv", "-o", "model.npz", "-p", "page.html")
    assert (code, output) == (130, "")
    assert errors.endswith("\nstopped; nothing was left half-written\n")
    assert (tmp_path / "model.npz").read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"points.csv", "model.npz"}


class Bomb:
    def __reduce__(self):
        return (open, ("exploded", "w"))


@pytest.fixture
def files(featavg, tmp_path):
    """Good and bad files of every kind."""
    x, y, fine = blobs()
    write_csv("good.csv", x, y)
    write_csv("one-class.csv", x, ["same"] * len(x))
    write_csv("constant.csv", np.ones_like(x), y)
    write_csv("nan.csv", np.where(x == x[0, 0], np.nan, x), y)
    write_csv("narrow.csv", x[:, :3], y)
    write_csv("few.csv", x[:12], ["rare", *["mixed"] * 11])
    write_csv("other.csv", x, np.where(y == "pure", "clean", y))
    write_npz("flat.npz", x, y)
    (tmp_path / "crossing.csv").write_text("where\n" + "both\n" * len(x))
    (tmp_path / "short.csv").write_text("where\n" + "\n".join(fine[:9]) + "\n")
    (tmp_path / "wide.csv").write_text("a,b\n" + "c,d\n" * len(x))
    fa.save_classifier(fa.SubclassClassifier(2, steps=25, random_state=0).fit(x, y), "model.npz")
    save_weights(SmallCNN(2, shape=(1, 8, 8), hidden=4), "cnn.safetensors")
    for name in ("model.pkl", "bomb.pt", "bomb.npz"):
        (tmp_path / name).write_bytes(pickle.dumps(Bomb()))
    return featavg


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("refine one-class.csv -o m.npz", "at least 2 classes"),
        ("refine constant.csv -o m.npz", "constant features"),
        ("refine nan.csv -o m.npz", "must be finite, got 1 NaN"),
        ("refine few.csv -o m.npz", "at least 10 points of every class, got 1 of 'rare'"),
        ("refine good.csv -o m.npz --subclasses 90", "fewer than 90 sub-labels"),
        ("refine good.csv -o m.npz --subclasses many", "--subclasses must be auto or a number from 1, got 'many'"),
        (
            "refine good.csv -o m.npz --sublabels crossing.csv",
            "every fine label must belong to one coarse label, got 'both' in two",
        ),
        ("refine good.csv -o m.npz --sublabels short.csv", "a row for each of 160 points, got 9 rows"),
        (
            "refine good.csv -o m.npz --sublabels wide.csv",
            "wide.csv must have one column, named in its first line, got 2",
        ),
        ("refine good.csv -o m.npz --sublabels none.csv", "no file of sub-labels at none.csv"),
        ("refine good.csv -o m.npz --sublabels breed", "one column 'breed', got 0"),
        ("refine good.csv -o m.npz --task parity", "--task is for built-in sets (cifar10, "),
        ("refine good.csv -o m.txt", "m.txt must end in .npz or .safetensors"),
        ("refine good.csv -o good.csv/m.npz", "cannot write good.csv/m.npz"),
        ("refine digits -o m.npz --label x", "digits is a built-in set"),
        ("refine digits -o m.npz --task prime", "task must be parity, halves or a list of the classes that are +1"),
        ("refine mnst -o m.npz", "no data at mnst"),
        ("diagnose model.npz narrow.csv", "must be as wide as the network, got 3 features and 5 weights"),
        ("diagnose model.npz other.csv", "got 'clean'; map yours to these"),
        ("diagnose model.npz nan.csv", "must be finite, got 1 NaN"),
        ("diagnose model.npz constant.csv", "the same values everywhere"),
        ("diagnose model.npz one-class.csv", "at least 2 classes"),
        ("diagnose model.npz good.csv --sublabels crossing.csv", "every fine label must belong to one coarse label"),
        ("diagnose model.npz good.csv -o .", ". is a folder; name a file in it"),
        ("diagnose model.pkl good.csv", "is a pickle, which can run any code when it is read, so it is refused"),
        ("diagnose bomb.npz good.csv", "is damaged or no network file"),
        ("diagnose bomb.pt good.csv", "say of what with --architecture two-layer, small-cnn, resnet18"),
        ("diagnose bomb.pt good.csv --architecture two-layer", "is a pickle that may run code and is refused"),
        ("diagnose bomb.pt good.csv --architecture vgg", "architecture must be one of two-layer, small-cnn, resnet18"),
        ("diagnose flat.npz good.csv", "holds no network of this kind"),
        ("diagnose cnn.safetensors good.csv", "or if these are weights say of what with --architecture"),
        ("diagnose cnn.safetensors good.csv --architecture small-cnn", "small-cnn judges images, got data without"),
        ("diagnose cnn.safetensors good.csv --architecture two-layer", "must hold a matrix '0.weight'"),
        ("diagnose cnn.safetensors digits --architecture resnet18", "does not fit this module: missing"),
        ("diagnose none.npz good.csv", "no model at none.npz"),
        (
            "diagnose good.csv good.csv",
            "a model must end in .npz, .safetensors, .onnx, .skops, .pt, .pth, .bin, got good.csv",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(files, tmp_path, arguments, sentence):
    before = {path.name for path in tmp_path.iterdir()}
    code, output, errors = files(*arguments.split())
    *read, complaint = errors.splitlines()
    assert (code, output) == (2, "")
    assert all(line.startswith("read ") for line in read)  # then one sentence
    assert sentence in complaint
    assert {path.name for path in tmp_path.iterdir()} == before  # nothing was written, and no bomb exploded
