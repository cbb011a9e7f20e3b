"""Downloads from a server on this machine: whole, damaged, truncated, absent, changed."""

import gzip
import hashlib
import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from sklearn_fw.datasets import _conll, _files, load_conll2000
from sklearn_fw.datasets._files import Remote

# Repeated, because a few letters take more room in a gzip file than outside.
TEXTS = {
    "train": 20 * b"He PRP B-NP\nruns VBZ B-VP\n\n# # B-NP\n\n",
    "test": 20 * b"Stop VB B-VP\n\n",
}
PACKED = {part: gzip.compress(text, mtime=0) for part, text in TEXTS.items()}


class Server(ThreadingHTTPServer):
    """Serves ``files``; ``faults`` changes what the next requests of a file get."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {f"/{part}.txt.gz": content for part, content in PACKED.items()}
        self.faults = {}
        self.requests = []


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self.path)
        faults = self.server.faults.get(self.path, [])
        fault = faults.pop(0) if faults else "none"
        if isinstance(fault, int):
            return self.send_error(fault)
        content = self.server.files[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if fault == "silent":  # closes the connection in the middle
            content = content[: len(content) // 2]
        self.wfile.write(content)
        return None

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    host, port = server.server_address
    remote = {
        part: Remote(
            f"http://{host}:{port}/{part}.txt.gz", len(text), hashlib.sha256(text).hexdigest()
        )
        for part, text in TEXTS.items()
    }
    monkeypatch.setattr(_conll, "_REMOTE", remote)
    monkeypatch.setattr(_files, "DELAY", 0.0)
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def fetch(home=None):
    return load_conll2000(home, download=True)


def stored(home):
    return sorted(path.relative_to(home).as_posix() for path in home.rglob("*"))


BOTH = ["conll2000", "conll2000/test.txt.gz", "conll2000/train.txt.gz"]


def test_downloads_once(server, tmp_path, caplog):
    with caplog.at_level(logging.INFO, logger="sklearn_fw"):
        chunks = fetch(tmp_path)
    assert "train.txt.gz (" in caplog.text
    assert "train.txt.gz: 100 %" in caplog.text
    assert chunks.X_train[0].tolist() == [["He", "PRP"], ["runs", "VBZ"]]
    assert [y.tolist() for y in chunks.y_train] == 20 * [["B-NP", "B-VP"], ["B-NP"]]
    assert "Tjong Kim Sang" in chunks.DESCR
    assert stored(tmp_path) == BOTH
    assert server.requests == ["/train.txt.gz", "/test.txt.gz"]
    again = load_conll2000(tmp_path, download=True, return_X_y=True)
    assert len(server.requests) == 2
    np.testing.assert_array_equal(again[2].values, chunks.X_test.values)
    # Without a download the same folder is read.
    np.testing.assert_array_equal(load_conll2000(tmp_path).X_train.values, chunks.X_train.values)


def test_the_folder_of_scikit_learn_is_the_default(server, tmp_path, monkeypatch):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    fetch()
    assert stored(tmp_path) == BOTH


@pytest.mark.parametrize("fault", ["silent", 503])
def test_broken_connections_are_tried_again(server, tmp_path, fault, caplog):
    server.faults["/train.txt.gz"] = [fault] * 3
    fetch(tmp_path)
    assert server.requests.count("/train.txt.gz") == 4
    assert stored(tmp_path) == BOTH
    assert caplog.text.count("trying again in 0 s") == 3


@pytest.mark.parametrize(
    ("fault", "message"),
    [("silent", r"the connection ended after \d+ of \d+ bytes"), (503, "HTTP Error 503")],
)
def test_tries_have_an_end(server, tmp_path, fault, message):
    server.faults["/train.txt.gz"] = [fault] * 5
    with pytest.raises(OSError, match=message) as caught:
        fetch(tmp_path)
    assert str(tmp_path / "conll2000") in str(caught.value)
    assert len(server.requests) == 4
    assert stored(tmp_path) == ["conll2000"]


def test_what_is_not_there_is_not_tried_again(server, tmp_path):
    server.faults["/train.txt.gz"] = [404]
    with pytest.raises(OSError, match=r"could not download http.*HTTP Error 404"):
        fetch(tmp_path)
    assert server.requests == ["/train.txt.gz"]
    assert stored(tmp_path) == ["conll2000"]


GOOD = PACKED["train"]
DAMAGED = bytearray(GOOD)
DAMAGED[len(GOOD) // 2] ^= 0xFF


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(TEXTS["train"].replace(b"He", b"We"), mtime=0), "SHA-256 .*, expected "),
        (bytes(DAMAGED), "is not an intact gzip file|SHA-256"),
        (GOOD[:-9], "is not an intact gzip file"),
        (b"<html>Not here any more</html>", "is not an intact gzip file"),
        (b"", "SHA-256|not an intact gzip"),
        (gzip.compress(bytes(10**5), mtime=0), "more than the 740 bytes"),
        (bytes(range(256)) * 9, "sends more than the 740 bytes"),
    ],
    ids=["another text", "a byte", "an end", "a page", "nothing", "a bomb", "too long"],
)
def test_changed_files_are_refused(server, tmp_path, content, message):
    server.files["/train.txt.gz"] = content
    with pytest.raises(OSError, match=message):
        fetch(tmp_path)
    assert server.requests == ["/train.txt.gz"]
    assert stored(tmp_path) == ["conll2000"]


def test_a_damaged_store_is_renewed(server, tmp_path, caplog):
    path = tmp_path / "conll2000" / "train.txt.gz"
    path.parent.mkdir()
    path.write_bytes(GOOD[:-9])
    fetch(tmp_path)
    assert path.read_bytes() == GOOD
    assert "it is downloaded again" in caplog.text


def test_no_server_at_all(server, tmp_path):
    server.shutdown()
    server.server_close()
    with pytest.raises(
        OSError, match=r"could not download http://127\.0\.0\.1.*get it in another way"
    ):
        fetch(tmp_path)


def test_known_content_is_that_of_the_real_files(data_file):
    """The archive holds the texts of the shared task: its hashes are what is checked."""
    import zipfile

    with zipfile.ZipFile(data_file("conll2000/conll2000.zip")) as archive:
        for part, remote in _conll._REMOTE.items():
            text = archive.read(f"conll2000/{part}.txt")
            assert len(text) == remote.size
            assert hashlib.sha256(text).hexdigest() == remote.sha256
