"""Measures how long a person waits: `python bench/label_speed.py ADDRESS [LABELS] [PAUSE]`.

ADDRESS is the line that `homing label … --classes a,b --no-open` prints. Gives labels with a pause in seconds between them, and prints the
time from a label to the next example, which includes writing the label to the disk.
"""

import json
import sys
import time
import urllib.parse
import urllib.request


def main(address, labels="150", pause="0.3"):
    url = urllib.parse.urlsplit(address)
    token = urllib.parse.parse_qs(url.query)["token"][0]

    def call(path, body=None):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(f"http://{url.netloc}{path}", data, headers)) as response:
            return json.load(response)

    item = call("/api/next")["items"][0]
    times = []
    for number in range(int(labels)):
        start = time.perf_counter()
        saved = call("/api/labels", {"id": item["id"], "label": "ab"[number % 2], "next": 1})
        times.append(1000 * (time.perf_counter() - start))
        item = saved["next"]["items"][0]
        time.sleep(float(pause))
    times.sort()
    at = [times[min(len(times) - 1, int(share * len(times)))] for share in (0.5, 0.99, 1)]
    print("label to next example: median {:.1f} ms, 99th percentile {:.1f} ms, longest {:.1f} ms".format(*at))


main(*sys.argv[1:])
