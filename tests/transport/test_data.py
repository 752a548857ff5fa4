"""Generators draw what they say; files are read as they stand or refused with a reason."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from scipy.stats import kstest

from firstlight.errors import InvalidInput
from firstlight.transport import data
from firstlight.transport.corpora import read_corpus, topic_coherence, topic_diversity
from firstlight.transport.readers import as_image, read_image, read_samples, write_image

CORPORA = Path(__file__).parents[3] / "shared" / "data" / "18"


@pytest.mark.parametrize(
    "generate",
    [data.eight_gaussians, data.twenty_five_gaussians, data.swiss_roll, data.gaussian, data.icosahedron, data.rippled],
)
def test_generators_give_the_asked_number_of_points_and_repeat_by_seed(generate):
    points = generate(77, seed=3)
    assert len(points) == 77
    assert points.dtype == np.float64
    np.testing.assert_array_equal(points, generate(77, seed=3))
    assert not np.array_equal(points, generate(77, seed=4))
    with pytest.raises(InvalidInput, match="n_samples=0"):
        generate(0)


def test_eight_gaussians_stand_evenly_on_a_circle():
    points = data.eight_gaussians(8000, seed=0)
    turns = np.angle(points[:, 0] + 1j * points[:, 1]) / (np.pi / 4)
    nearest = np.round(turns)
    assert np.abs(np.linalg.norm(points, axis=1) - np.sqrt(2)).max() < 6 * 0.02
    assert np.abs(turns - nearest).max() < 0.1
    counts = np.unique(nearest % 8, return_counts=True)[1]
    assert counts.min() > 850
    assert len(counts) == 8


def test_twenty_five_gaussians_stand_on_a_lattice():
    points = data.twenty_five_gaussians(5000, seed=0) * np.sqrt(2)
    corners = np.round(points)
    assert np.abs(points - corners).max() < 0.2
    assert len(np.unique(corners, axis=0)) == 25


def test_the_icosahedron_has_twelve_equal_bumps_of_the_right_width():
    points = data.icosahedron(2400, kappa=50.0, seed=0)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-12)
    bumps = points.reshape(12, 200, 3)
    means = bumps.mean(axis=1)
    # The mean of a von Mises–Fisher distribution has length coth κ - 1/κ; corners are at least arccos(1/√5) apart.
    np.testing.assert_allclose(np.linalg.norm(means, axis=1), 1 / np.tanh(50) - 1 / 50, atol=0.006)
    directions = means / np.linalg.norm(means, axis=1, keepdims=True)
    cosines = np.sort(directions @ directions.T, axis=1)
    expected = np.repeat([-1, -1 / np.sqrt(5), 1 / np.sqrt(5), 1], [1, 5, 5, 1])
    np.testing.assert_allclose(cosines, np.tile(expected, (12, 1)), atol=0.06)


def test_rippled_points_follow_the_integral_of_their_density():
    points = data.rippled(20_000, seed=0)[:, 0]

    def distribution(x):
        return x + 0.5 * (1 - np.cos(4 * np.pi * x)) / (4 * np.pi) + 0.3 * (1 - np.cos(40 * np.pi * x)) / (40 * np.pi)

    assert kstest(points, distribution).pvalue > 1e-3
    assert kstest(np.random.default_rng(0).random(20_000), distribution).pvalue < 1e-9


@given(n=st.integers(1, 5), d=st.integers(1, 4), seed=st.integers(0, 9), kind=st.sampled_from(["npy", "npz", "csv"]))
def test_samples_come_back_from_every_kind_of_file(tmp_path_factory, n, d, seed, kind):
    points = np.random.default_rng(seed).normal(size=(n, d))
    path = tmp_path_factory.mktemp("samples") / f"points.{kind}"
    if kind == "npy":
        np.save(path, points)
    elif kind == "npz":
        np.savez(path, X=points, y=np.arange(n))
    else:
        np.savetxt(path, points, delimiter=",", header=",".join("abcd"[:d]), comments="")
    np.testing.assert_allclose(read_samples(path), points, rtol=1e-15)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("points.txt", "1 2", "from .npy, .npz or .csv files, got 'points.txt'"),
        ("points.csv", "x,y\n1,2\n3,oops\n", "not a table of numbers between commas: .*oops"),
        ("points.csv", "1,2\n3\n", "not a table of numbers between commas"),
        ("points.csv", "1,2\n3,nan\n", "must be finite, found nan in row 1, column 1"),
        ("points.csv", "", "points.csv is empty"),
        ("points.csv", "x,y\n", "points.csv is empty"),
        ("points.csv", ",x,y\n0,1.5,2\n1,3,4\n", "first column .* has no name"),
        ("points.npy", "no array", "not a readable .npy file"),
        ("points.npz", "no archive", "not a readable .npz file"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_broken_samples_are_refused_with_a_reason(tmp_path, name, content, complaint):
    (tmp_path / name).write_text(content)
    with pytest.raises(InvalidInput, match=complaint):
        read_samples(tmp_path / name)


def test_tables_of_quoted_numbers_are_read(tmp_path):
    (tmp_path / "quoted.csv").write_text('"x","y"\n"1","2.5"\n"3","4"\n')
    np.testing.assert_array_equal(read_samples(tmp_path / "quoted.csv"), [[1, 2.5], [3, 4]])


def test_arrays_that_are_no_points_are_refused(tmp_path):
    np.save(tmp_path / "flat.npy", np.arange(5.0))
    with pytest.raises(InvalidInput, match=r"flat.npy has shape \(5,\); points need shape"):
        read_samples(tmp_path / "flat.npy")
    np.save(tmp_path / "objects.npy", np.array([{}], object))
    with pytest.raises(InvalidInput, match="plain numbers"):
        read_samples(tmp_path / "objects.npy")
    np.savez(tmp_path / "two.npz", a=np.eye(2), b=np.eye(2))
    with pytest.raises(InvalidInput, match="a single one, or one named X"):
        read_samples(tmp_path / "two.npz")


@pytest.mark.parametrize("channels", [3, 4])
def test_images_come_back_as_written(tmp_path, channels):
    image = np.random.default_rng(0).integers(0, 256, (5, 7, channels), dtype=np.uint8)
    write_image(tmp_path / "image.png", image)
    np.testing.assert_array_equal(read_image(tmp_path / "image.png"), image)
    write_image(tmp_path / "image.png", image / 255)
    np.testing.assert_array_equal(read_image(tmp_path / "image.png"), image)


def test_images_are_turned_upright(tmp_path):
    image = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    turned = Image.fromarray(np.rot90(image).copy())
    exif = turned.getexif()
    exif[0x0112] = 6  # "turn by 90° clockwise to see it upright"
    turned.save(tmp_path / "turned.png", exif=exif)
    np.testing.assert_array_equal(read_image(tmp_path / "turned.png"), image)


def test_images_of_other_kinds_are_refused(tmp_path):
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    with pytest.raises(InvalidInput, match="not a readable image"):
        read_image(tmp_path / "broken.png")
    Image.fromarray(np.full((4, 4), 40_000, np.uint16)).save(tmp_path / "deep.png")
    with pytest.raises(InvalidInput, match="more than 8 bits"):
        read_image(tmp_path / "deep.png")
    with pytest.raises(InvalidInput, match="cannot tell an image format"):
        write_image(tmp_path / "image.xyz", np.zeros((2, 2, 3)))
    with pytest.raises(InvalidInput, match="with 4 channels"):
        write_image(tmp_path / "image.jpg", np.zeros((2, 2, 4)))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.png", "deep.png"]


@pytest.mark.parametrize(
    ("image", "complaint"),
    [
        (np.zeros((4, 4)), "stack a grey image"),
        (np.zeros((4, 4, 2)), r"got \(4, 4, 2\)"),
        (np.zeros((4, 4, 3), np.int64), "got int64"),
        (np.full((4, 4, 3), 200.0), "divide by its largest possible value"),
        (np.full((4, 4, 3), np.nan), "between 0 and 1"),
    ],
)
def test_arrays_that_are_no_images_are_refused(image, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        as_image(image, "image")


@pytest.fixture
def small_corpus(tmp_path):
    (tmp_path / "vocabulary.txt").write_text("apple\npear\nwheel\nroad\n")
    (tmp_path / "corpus.tsv").write_text("apple pear apple\ttrain\tfruit\nroad wheel\ttest\tcars\n")
    return tmp_path


def test_a_corpus_is_read_as_it_stands(small_corpus):
    corpus = read_corpus(small_corpus)
    assert corpus.documents == [["apple", "pear", "apple"], ["road", "wheel"]]
    assert corpus.labels == ["fruit", "cars"]
    np.testing.assert_array_equal(corpus.counts().toarray(), [[2, 1, 0, 0], [0, 0, 1, 1]])
    np.testing.assert_array_equal(corpus.part("train"), [True, False])


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("apple\tholdout\tfruit", "line 3: expected text, part"),
        ("apple pear", "line 3: expected text, part"),
        ("apple quince\ttrain\tfruit", "line 3: 'quince' is not in vocabulary.txt"),
        ("apple\ttrain", "2 of 3 documents have labels"),
    ],
)
def test_a_broken_corpus_is_refused_with_its_line(small_corpus, line, complaint):
    with (small_corpus / "corpus.tsv").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(InvalidInput, match=complaint):
        read_corpus(small_corpus)


def test_a_folder_without_a_corpus_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"holds no corpus\.tsv"):
        read_corpus(tmp_path)


@pytest.mark.parametrize(
    ("name", "documents", "words", "classes"), [("M10", 8355, 1696, 10), ("BBC_News", 2225, 2949, 5)]
)
def test_the_corpora_of_the_paper_have_their_published_sizes(name, documents, words, classes):
    if not (CORPORA / name).is_dir():
        pytest.skip("the shared corpora are not here")
    corpus = read_corpus(CORPORA / name)
    counts = corpus.counts()
    assert counts.shape == (documents, words)
    assert len(set(corpus.labels)) == classes
    assert counts.sum() == sum(map(len, corpus.documents))


def test_coherence_equals_its_definition():
    rng = np.random.default_rng(0)
    documents = [list(rng.choice(list("abcdef"), 4, replace=False)) for _ in range(40)]
    topics = [["a", "b", "c"], ["d", "e", "f"]]
    there = {word: np.array([word in document for document in documents]) for word in "abcdef"}

    def npmi(one, other):
        both = (there[one] & there[other]).mean() + 1e-12
        return np.log(both / (there[one].mean() * there[other].mean())) / -np.log(both)

    def coherence(topic):
        # Every word is compared with the whole topic by the cosine of their vectors of NPMI.
        vectors = np.array([[npmi(one, other) for other in topic] for one in topic])
        whole = vectors.sum(axis=0)
        return np.mean(vectors @ whole / np.linalg.norm(vectors, axis=1) / np.linalg.norm(whole))

    assert topic_coherence(topics, documents) == pytest.approx(np.mean(list(map(coherence, topics))), abs=1e-6)
    with pytest.raises(InvalidInput, match="'z' is a word of a topic"):
        topic_coherence([["a", "z"]], documents)


def test_diversity_counts_different_words():
    assert topic_diversity([["a", "b"], ["c", "d"]]) == 1
    assert topic_diversity([["a", "b"], ["b", "a"]]) == 0.5
