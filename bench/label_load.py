"""Labels as many people at once, and kills the server in between: `python bench/label_load.py HOMING`.

Twenty people answer 10,000 times, each as fast as the server allows. Meanwhile the server is killed (SIGKILL) and started again five
times. Whoever gets no answer sends the label once more, as the page does. Afterwards the script compares the log with what the server
confirmed: no label may be missing, stand there twice, or stand in another order than the person gave it. It needs NumPy.
"""

import argparse
import http.client
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

import numpy as np


class Server:
    """A `homing label` process that is started again with the same address."""

    def __init__(self, command):
        self.command = command
        self.up = threading.Event()
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        url = urllib.parse.urlsplit(self.process.stdout.readline().strip())
        self.host, self.token = url.netloc, urllib.parse.parse_qs(url.query)["token"][0]
        self.up.set()

    def kill(self):
        self.up.clear()
        self.process.kill()
        self.process.wait()
        self.start()


def person(server, name, share, confirmed, times, failures):
    """Gives `share` labels, one after the other."""
    connection, item, given = None, None, 0
    while given < share:
        server.up.wait()
        start = time.perf_counter()
        try:
            connection = connection or http.client.HTTPConnection(server.host, timeout=60)
            headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
            if item is None:
                connection.request("GET", f"/api/next?annotator={name}", headers=headers)
            else:
                label = "abc"[given % 3]
                body = {"id": item, "label": label, "annotator": name, "next": 1}
                connection.request("POST", "/api/labels", json.dumps(body), headers)
            response = connection.getresponse()
            answer = json.load(response)
        except (OSError, http.client.HTTPException, json.JSONDecodeError):
            connection = None
            time.sleep(0.01)
            continue
        if response.status != 200:
            failures.append((name, response.status, answer))
            return
        if item is not None:
            confirmed.append((item, label))
            times.append(time.perf_counter() - start)
            given += 1
            answer = answer["next"]
        item = answer["items"][0]["id"] if answer["items"] else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("homing")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--labels", type=int, default=10_000)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--kills", type=int, default=5)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        centres = rng.standard_normal((100, options.dim), dtype=np.float32)
        pool = centres[rng.integers(100, size=options.rows)]
        pool += 0.5 * rng.standard_normal(pool.shape, dtype=np.float32)
        np.save(folder / "pool.npy", pool)
        np.save(folder / "targets.npy", pool[rng.choice(options.rows, 30)] + np.float32(0.01))
        files = [folder / "pool.npy", "--targets", folder / "targets.npy", "--run", folder / "run"]
        server = Server([options.homing, "label", *files, "--classes", "a,b,c", "--port", "0", "--no-open"])
        names = [f"person-{i}" for i in range(options.people)]
        confirmed, times, failures = {name: [] for name in names}, [], []
        share = options.labels // options.people
        arguments = [(server, name, share, confirmed[name], times, failures) for name in names]
        threads = [threading.Thread(target=person, args=each) for each in arguments]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for kill in range(options.kills):
            while len(times) < share * options.people * (kill + 1) / (options.kills + 1) and any(t.is_alive() for t in threads):
                time.sleep(0.005)
            server.kill()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - start
        server.process.send_signal(signal.SIGINT)
        server.process.wait()
        logged = {name: [] for name in names}
        for line in (folder / "run" / "events.jsonl").read_text().splitlines():
            event = json.loads(line)
            if event["event"] == "label":
                logged[event["annotator"]] += [(id, event["label"]) for id in event["ids"]]
    lost = sum(len(set(confirmed[name]) - set(logged[name])) for name in names)
    twice = sum(len(logged[name]) - len(set(logged[name])) for name in names)
    moved = sum(logged[name] != confirmed[name] for name in names)
    total = sum(map(len, confirmed.values()))
    times.sort()
    at = "median {:.0f} ms, 99th percentile {:.0f} ms, longest {:.0f} ms".format(
        *(1000 * times[min(len(times) - 1, int(q * len(times)))] for q in (0.5, 0.99, 1))
    )
    print(f"{total:,} labels by {options.people} people in {seconds:.0f} s, {options.kills} kills; label to next example: {at}")
    print(f"lost {lost}, twice {twice}, people whose order differs {moved}, refused {failures[:3]}")
    sys.exit(lost + twice + moved + len(failures) > 0)


main()
