r"""The words of Gambit's game files: labels, braces, exact numbers, and the line on which each stands.

A file is a row of quoted labels, braces and bare words; blanks between them mean nothing, and neither do the
commas between payoffs. Inside quotes every character counts, and ``\"`` stands for a quote.
Format: https://gambitproject.readthedocs.io/en/stable/formats.html
"""

import codecs
import re
from fractions import Fraction
from pathlib import Path
from typing import NoReturn

from firstlight.errors import InvalidInput

LARGEST_FILE = 2**30  # bytes, some twenty million nodes
LONGEST_NUMBER = 2000  # characters; int() takes time quadratic in the length
LARGEST_NUMBER = 10**300  # so that sums along a path are float64 numbers too
# Decimals such as 0.3333333333333333 stand for fractions: sums closer than this are taken as equal.
ROUNDING = 1e-12

Exact = int | Fraction
Payoffs = tuple[Exact, Exact]  # of player 1 and player 2

# Possessive repeats (*+) never try again, so that a file of any shape is read in linear time.
_TOKEN = re.compile(
    r"""[\s,]*+(?:
        "(?P<label>[^"\\]*+(?:\\"?+[^"\\]*+)*+)"
      | (?P<open>\{)
      | (?P<close>\})
      | (?P<word>[^\s,{}"]++)
      | (?P<unclosed>")
      | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
# All of a node's entry: outside labels only the letters that begin nodes are c, p and t.
_NODE = re.compile(r'[cpt][^"cpt]*+(?:"[^"\\]*+(?:\\"?+[^"\\]*+)*+"[^"cpt]*+)*+')
_NUMBER = re.compile(r"[+-]?(?:\d+(?:/\d+)?|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)", re.ASCII)
_WHOLE = re.compile(r"\d{1,9}", re.ASCII)

# Gambit 17 refuses labels with control characters and with blanks outside or doubled, earlier ones trip over
# backslashes. Unicode's pictures of these characters stand for them in a file.
_PICTURES = {**{code: 0x2400 + code for code in range(32)}, 0x7F: 0x2421, ord("\\"): 0x29F5}
_PICTURED = {picture: code for code, picture in _PICTURES.items()} | {0x2420: 0x20}
_AWKWARD_BLANK = re.compile(r"(?<= ) |\A | \Z")


def same_sum(one: Exact, other: Exact, payoffs: Payoffs) -> bool:
    """Whether two sums of payoffs agree, to the rounding of decimals of the size of these payoffs."""
    return one == other or abs(one - other) <= ROUNDING * max(abs(payoffs[0]), abs(payoffs[1]), abs(other))


def shown(number: Exact) -> str:
    """Return a number as text for people, with fifteen digits."""
    return f"{float(number):.15g}"


def quoted(label: str) -> str:
    """Return a label as it stands in a file, in quotes."""
    return '"' + _AWKWARD_BLANK.sub("\u2420", label.translate(_PICTURES)).replace('"', '\\"') + '"'


def unquoted(written: str) -> str:
    """Return the label that `quoted` wrote, from the text between the outer quotes."""
    label = written.replace('\\"', '"')
    return label if label.isascii() else label.translate(_PICTURED)


class GambitText:
    """Reads a file word by word.

    Parameters
    ----------
    path : the file; UTF-8, UTF-16 with a byte order mark, or else Latin-1.

    Attributes
    ----------
    kind : what stands at the reading position: "label", "open", "close", "word" or "end".
    value : its text; of a label, what is between the quotes.
    position : where it begins, in characters from the start of the file.

    Raises
    ------
    InvalidInput
        From every method, with the path and the line, when the file does not go on as asked.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._text = _decoded(self.path)
        self.go_to(0)

    def advance(self) -> None:
        """Go on to the next word."""
        self.go_to(self._end)

    def up_to_next_node(self) -> tuple[str, int]:
        """Return the text of the node entry that begins here with c, p or t, and the position of the next entry."""
        entry = _NODE.match(self._text, self.position)
        assert entry is not None  # its first letter is there
        return entry[0].rstrip(), entry.end()

    def go_to(self, position: int) -> None:
        """Read the word at or after a position that lies between words."""
        token = _TOKEN.match(self._text, position)
        assert token is not None  # whatever follows the blanks, one of the groups matches
        self.kind = token.lastgroup or "end"
        self.value = token[self.kind]
        self.position = token.start(self.kind)
        self._end = token.end()
        if self.kind == "unclosed":
            self.fail('a label begins here and has no closing quote "')

    def fail(self, message: str, position: int | None = None) -> NoReturn:
        """Refuse the file, naming the line of `position` (or of the present word)."""
        line = self.line(self.position if position is None else position)
        raise InvalidInput(f"{self.path}, line {line}: {message}")

    def line(self, position: int) -> int:
        """Return the line, from 1, of a position in the file."""
        return 1 + len(re.findall(r"\r\n?|\n", self._text[:position]))

    def expect(self, kind: str, what: str) -> str:
        """Step over a word of this kind and return its text; `what` says what it would have been."""
        if self.kind != kind:
            self.fail(f"expected {what}, found {self.found()}")
        value = self.value
        self.advance()
        return value

    def accept(self, kind: str) -> bool:
        """Step over a word of this kind if one stands here."""
        if self.kind != kind:
            return False
        self.advance()
        return True

    def label(self, what: str) -> str:
        """Read a label."""
        return unquoted(self.expect("label", what))

    def optional_label(self) -> str:
        """Read a label if one stands here; without one it is empty."""
        return self.label("a label") if self.kind == "label" else ""

    def labels(self, what: str) -> list[str]:
        """Read labels in braces."""
        self.expect("open", f"{{ before the {what}")
        labels = []
        while self.kind == "label":
            labels.append(self.label(what))
        self.expect("close", f"a label or }} among the {what}")
        return labels

    def whole_number(self, what: str) -> int:
        """Read a number 0, 1, 2, … of at most nine digits."""
        if self.kind != "word" or not _WHOLE.fullmatch(self.value):
            self.fail(f"expected {what} (0, 1, 2, …), found {self.found()}")
        return int(self.expect("word", what))

    def number(self, what: str) -> Exact:
        """Read an integer, fraction or decimal, exactly."""
        word = self.value
        if self.kind != "word" or len(word) > LONGEST_NUMBER or not _NUMBER.fullmatch(word):
            self.fail(f"expected {what}, a finite number such as 3, -1/2, 0.25 or 1e-3, found {self.found()}")
        try:
            number = int(word) if word.isdigit() else Fraction(word)
        except ZeroDivisionError:
            self.fail(f"expected {what}, found a division by zero, {self.found()}")
        if abs(number) > LARGEST_NUMBER:
            self.fail(f"expected {what} of at most 1e300 in size, found {self.found()}")
        self.advance()
        return number

    def payoffs(self) -> Payoffs:
        """Read the payoffs of both players and the closing brace after them."""
        position = self.position
        payoffs = []
        while not self.accept("close"):
            payoffs.append(self.number("a payoff"))
        if len(payoffs) != 2:
            self.fail(f"expected a payoff for each of 2 players, found {len(payoffs)}", position)
        return payoffs[0], payoffs[1]

    def found(self) -> str:
        """Describe what stands at the reading position."""
        if self.kind == "end":
            return "the end of the file"
        value = self.value if len(self.value) <= 40 else self.value[:40] + "…"
        return {"open": "{", "close": "}", "label": f"the label {quoted(unquoted(value))}"}.get(self.kind, repr(value))


def read_header(text: GambitText, kind: str, version: str) -> str:
    """Read the first line of a file, up to the players, and return the title.

    Parameters
    ----------
    text : the file, at its beginning.
    kind : "EFG" for game trees, "NFG" for payoff tables.
    version : of the format.

    Raises
    ------
    InvalidInput
        If the file is of another kind or the game has not two players.
    """
    if text.kind != "word" or text.value != kind:
        other = {"EFG": "; it is a game tree (.efg)", "NFG": "; it is a payoff table (.nfg)"}.get(text.value, "")
        text.fail(f"expected a file that begins with {kind} {version} R, found {text.found()}{other}")
    text.advance()
    for what, choices in (("version", (version,)), ("kind of numbers", ("R", "D"))):
        if text.kind != "word" or text.value not in choices:
            text.fail(f"expected {' or '.join(choices)} as the {what} of the file, found {text.found()}")
        text.advance()
    title = text.label("the title of the game in quotes")
    position = text.position
    players = text.labels("names of players")
    if len(players) != 2:
        text.fail(f"the game has {len(players)} players, expected 2; games of more players need another tool", position)
    return title


def _decoded(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InvalidInput(f"{path} has over {LARGEST_FILE:,} bytes, too many to read into memory")
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}") from error
    utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return data.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError:
        # Older files name players in the encoding of their writer's machine; every byte is a Latin-1 character.
        return data.decode("latin-1")
