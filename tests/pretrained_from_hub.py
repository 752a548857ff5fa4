"""Load a model from a Hub on this machine; run as ``python -m tests.pretrained_from_hub MODEL CACHE``."""

import hashlib
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "f" * 40


class Hub(BaseHTTPRequestHandler):
    """The answers of the Hub that loading ``me/net`` needs, over real HTTP."""

    folder: Path

    def do_GET(self) -> None:
        place, _, part = self.path.partition("?")[0].rpartition("/")
        files = [(path.name, path.stat().st_size) for path in self.folder.iterdir()]
        if self.path.startswith("/api/models/me/net/tree/"):
            tree = [{"type": "file", "path": name, "size": size, "oid": "0" * 40} for name, size in files]
            self.answer(json.dumps(tree).encode())
        elif self.path.startswith("/api/models/me/net"):
            siblings = [{"rfilename": name, "size": size} for name, size in files]
            self.answer(json.dumps({"id": "me/net", "sha": COMMIT, "siblings": siblings}).encode())
        elif place == f"/me/net/resolve/{COMMIT}":
            self.answer((self.folder / part).read_bytes())
        else:
            self.send_error(404)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

    def answer(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", hashlib.sha1(content).hexdigest())
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def main(model: Path, cache: Path) -> None:
    Hub.folder = model
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ |= {
        "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
        "HF_HOME": str(cache),
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    }

    from tests.test_pretrained import Net, assert_same_model

    from firstlight.errors import InvalidInput

    def refusal(name: str, **options: bool) -> str:
        try:
            Net.from_pretrained(name, **options)
        except InvalidInput as error:
            return str(error)
        raise AssertionError(f"{name} was loaded")

    expected = Net.from_pretrained(model)
    Net.max_bytes = 100
    assert "over the limit of 100" in refusal("me/net")
    assert not list(cache.rglob("*.safetensors")), "it is too large, and was fetched all the same"
    Net.max_bytes = 10**6
    assert "me/net is no folder here and not to be had on the Hub" in refusal("me/net", local_files_only=True)
    assert_same_model(Net.from_pretrained("me/net"), expected)
    assert "not to be had on the Hub" in refusal("me/absent")
    server.shutdown()
    server.server_close()
    assert_same_model(Net.from_pretrained("me/net", local_files_only=True), expected)
    assert_same_model(Net.from_pretrained("me/net"), expected)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
