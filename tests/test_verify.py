import json
import re
from base64 import b64decode
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from firstlight import __version__
from firstlight.errors import InvalidInput
from firstlight.verify import verify

SVG = "{http://www.w3.org/2000/svg}"

SUMS = '''
    import math

    import numpy as np

    from firstlight.evidence import Budget, Measurement, claim

    @claim("numpy's sum is exact to rounding", source="Higham 1993, sec. 4")
    def pairwise(budget: Budget) -> Measurement:
        """Uniform numbers, against ``math.fsum``.

        One sum per size.
        """
        numbers = np.random.default_rng(budget.seed).random(budget.pick(quick=1000, full=4000))
        sizes = range(100, len(numbers) + 1, 100)
        errors = [(n, abs(float(numbers[:n].sum()) - math.fsum(numbers[:n]))) for n in sizes]

        def plot(axes):
            axes.plot(*zip(*errors))
            axes.set(xlabel="numbers", ylabel="error")

        rows = [{"numbers": n, "error": error} for n, error in errors]
        worst = max(error for _, error in errors)
        return Measurement("largest error", worst, bar=1e-10, peer="math.fsum", rows=rows, plot=plot)

    @claim("float16 sums a thousand numbers to 1e-9", source="nobody")
    def half(budget: Budget) -> Measurement:
        numbers = np.random.default_rng(budget.seed).random(1000)
        exact = math.fsum(numbers)
        error = abs(float(numbers.astype(np.float16).sum()) - exact)
        return Measurement("error", error, bar=1e-9, peer="numpy float64", peer_value=abs(numbers.sum() - exact))
'''

FAILING = """
    from firstlight.errors import InvalidInput, Interrupted
    from firstlight.evidence import Budget, Measurement, claim

    @claim("division by zero works", source="ours")
    def division(budget: Budget) -> Measurement:
        return Measurement("quotient", 1 / 0, bar=0)

    @claim("a missing library is no bug", source="ours")
    def missing(budget: Budget) -> Measurement:
        import a_library_nobody_has

    @claim("refused with two\\nlines", source="ours")
    def refused(budget: Budget) -> Measurement:
        raise InvalidInput("expected one\\nline")

    @claim("the last one is measured all the same", source="ours")
    def last(budget: Budget) -> Measurement:
        return Measurement("error", 0.0, bar=0.0)
"""

HOSTILE = """
    import numpy as np

    from firstlight.evidence import Budget, Measurement, claim

    EVIL = "<script>alert('x')</script><img src=x onerror=alert(1)>"

    @claim(f"escaped {EVIL}", source=EVIL)
    def escaped(budget: Budget) -> Measurement:
        '''Protocol <script>alert(2)</script>.'''

        def plot(axes):
            axes.set_xlabel(EVIL)

        row = {EVIL: EVIL, "not a number": np.nan, "infinite": -np.inf}
        row |= {"single": np.float32(0.5), "count": np.int64(3), "yes": np.True_, "array": np.array([1.0, np.nan])}
        infinite = {"peer": EVIL, "peer_value": float("inf")}
        return Measurement(EVIL, float("nan"), bar=1.0, unit=EVIL, rows=[row], plot=plot, **infinite)

    @claim("a picture may fail", source="ours")
    def picture(budget: Budget) -> Measurement:
        def plot(axes):
            raise RuntimeError(f"no picture {EVIL}")

        return Measurement("error", 0.0, bar=0.0, plot=plot)

    @claim("a reason is escaped", source="ours")
    def reason(budget: Budget) -> Measurement:
        raise RuntimeError(EVIL)
"""

STOPPED = """
    import signal

    from firstlight.errors import Interrupted
    from firstlight.evidence import Budget, Measurement, claim

    @claim("the first is measured", source="ours")
    def first(budget: Budget) -> Measurement:
        return Measurement("error", 0.0, bar=0.0)

    @claim("somebody presses Ctrl-C", source="ours")
    def second(budget: Budget) -> Measurement:
        {stop}

    @claim("the third is not begun", source="ours")
    def third(budget: Budget) -> Measurement:
        raise AssertionError
"""


class Page(HTMLParser):
    """Reads a page, checks that its elements nest, and collects what the tests ask about."""

    VOID = ("meta", "br", "wbr", "img")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.tags, self.ids, self.links, self.words = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.ids += [value for name, value in attributes if name == "id"]
        self.links += [value for name, value in attributes if name in ("href", "src", "xlink:href")]
        assert not [name for name, _ in attributes if name.startswith("on")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    def pictures(self) -> list[ElementTree.Element]:
        start = "data:image/svg+xml;base64,"
        drawings = [b64decode(link.removeprefix(start)) for link in self.links if link.startswith(start)]
        return [ElementTree.fromstring(drawing) for drawing in drawings]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def strict_json(text: str):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_claims_are_measured_in_order_and_judged(build_system):
    build_system("sums", claims=SUMS)
    report = verify("sums", progress=False)
    assert [outcome.verdict for outcome in report.outcomes] == ["holds", "missed"]
    assert not report.holds
    assert report.verdict == "1 of 2 claims hold"
    assert report.versions["firstlight"] == __version__
    assert report.versions["numpy"] == np.__version__
    assert 0 < sum(outcome.seconds for outcome in report.outcomes) <= report.seconds


def test_the_same_seed_gives_the_same_figures_and_another_seed_others(build_system):
    build_system("sums", claims=SUMS)
    first, again, other = (verify("sums", seed=seed, progress=False) for seed in (1, 1, 2))
    values = [[outcome.measurement.value for outcome in report.outcomes] for report in (first, again, other)]
    assert values[0] == values[1] != values[2]


def test_the_full_form_is_run_when_asked_for(build_system):
    build_system("sums", claims=SUMS)
    rows = [len(verify("sums", full=full, progress=False).outcomes[0].measurement.rows) for full in (False, True)]
    assert rows == [10, 40]


def test_all_working_systems_are_measured_unless_some_are_named(build_system):
    build_system("sums", claims=SUMS)
    build_system("planned", works=False)
    build_system("field.more", claims=SUMS)
    assert [s.path for s in verify(progress=False).by_system()] == ["sums", "field.more"]
    assert [s.path for s in verify("more", "more", progress=False).by_system()] == ["field.more"]
    with pytest.raises(InvalidInput, match="planned"):
        verify("planned", progress=False)


def test_a_claim_that_raises_is_reported_and_stops_no_other(build_system):
    build_system("field.failing", claims=FAILING)
    report = verify("failing", progress=False)
    assert [outcome.verdict for outcome in report.outcomes] == ["failed"] * 3 + ["holds"]
    assert [outcome.failure for outcome in report.outcomes[:3]] == [
        "ZeroDivisionError: division by zero",
        "ModuleNotFoundError: No module named 'a_library_nobody_has'",
        "expected one line",
    ]
    assert "1 / 0" in report.outcomes[0].trace
    assert (report.holds, report.stopped, report.verdict) == (False, False, "1 of 4 claims hold")


@pytest.mark.parametrize(
    ("claims", "failure"),
    [
        ("import a_library_nobody_has", "a_library_nobody_has is not installed; run: pip install 'firstlight[bad]'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)
def test_claims_that_cannot_be_had_are_a_failure_of_their_system_only(build_system, claims, failure):
    build_system("bad", claims=claims)
    build_system("sums", claims=SUMS)
    report = verify(progress=False)
    assert [outcome.system.path for outcome in report.outcomes] == ["bad", "sums", "sums"]
    assert report.outcomes[0].failure == failure


@pytest.mark.parametrize("stop", ["signal.raise_signal(signal.SIGINT)", "raise Interrupted('one of two jobs done')"])
def test_ctrl_c_keeps_what_was_measured(build_system, stop):
    build_system("stopped", claims=STOPPED.format(stop=stop))
    report = verify(progress=False)
    assert [outcome.claim.statement for outcome in report.outcomes] == ["the first is measured"]
    assert report.stopped
    assert not report.holds
    assert report.verdict == "1 of 1 claim holds; stopped with 2 still to measure"
    assert "stopped with 2 still to measure" in Page(report.to_html()).text


def test_the_json_says_what_the_report_says(build_system):
    build_system("sums", claims=SUMS)
    report = verify("sums", seed=3, progress=False)
    content = strict_json(report.to_json())
    assert content["command"] == "firstlight verify sums --seed 3"
    assert (content["holds"], content["seed"], content["full"]) == (False, 3, False)
    pairwise, half = content["claims"]
    assert pairwise["value"] == report.outcomes[0].measurement.value
    assert pairwise["rows"] == [dict(row) for row in report.outcomes[0].measurement.rows]
    assert (pairwise["bar"], pairwise["better"], pairwise["verdict"]) == (1e-10, "lower", "holds")
    assert half["peer_value"] == report.outcomes[1].measurement.peer_value


def test_the_json_is_strict_whatever_was_measured(build_system):
    build_system("hostile", claims=HOSTILE)
    measured, _, failed = strict_json(verify(progress=False).to_json())["claims"]
    assert (measured["value"], measured["peer_value"]) == ("NaN", "Infinity")
    assert list(measured["rows"][0].values())[1:] == ["NaN", "-Infinity", 0.5, 3, True, [1.0, "NaN"]]
    assert failed["failure"].startswith("RuntimeError: <script>")


def test_the_page_shows_every_claim_with_its_bar_peer_source_and_picture(build_system):
    build_system("sums", claims=SUMS)
    report = verify("sums", full=True, progress=False)
    page = Page(report.to_html())
    for words in (
        "1 of 2 claims hold",
        "numpy's sum is exact to rounding",
        "≤ 1e-10",
        "math.fsum",
        "Source: Higham 1993, sec. 4",
        "One sum per size.",
        "The 40 rows behind the figure",
        "firstlight verify sums --full --seed 0",
        report.machine["processor"],
        report.versions["numpy"],
    ):
        assert words in page.text
    assert "4,000" in page.words
    assert {"figure", "table", "h1", "h2", "h3"} <= set(page.tags)
    (picture,) = page.pictures()
    assert picture.tag.endswith("svg")
    assert {"numbers", "error"} <= {"".join(text.itertext()).strip() for text in picture.iter(SVG + "text")}


def test_the_page_stands_alone_and_its_links_have_targets(build_system):
    build_system("sums", claims=SUMS)
    build_system("field.more", claims=SUMS)
    text = verify(progress=False).to_html()
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert {link.partition(":")[0] for link in page.links if not link.startswith("#")} == {"data"}
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert not {"script", "link", "iframe", "object"} & set(page.tags)
    assert not re.search(r"@import|url\((?!#)", text)


def test_nothing_that_was_measured_becomes_markup(build_system):
    build_system("hostile", claims=HOSTILE)
    page = Page(verify(progress=False).to_html())
    assert "script" not in page.tags
    assert {link.partition(",")[0] for link in page.links if link[0] != "#"} == {"data:image/svg+xml;base64"}
    assert page.text.count("<script>alert('x')</script>") >= 8
    assert "Protocol <script>alert(2)</script>." in page.text
    assert "The figure could not be drawn (RuntimeError: no picture <script>" in page.text


def test_finished_claims_are_listed_on_standard_error_alone(build_system, capsys):
    build_system("sums", claims=SUMS)
    verify("sums")
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("✓ holds")
    assert lines[1].startswith("✗ missed")
