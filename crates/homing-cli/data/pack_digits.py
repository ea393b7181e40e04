"""Pack scikit-learn's digits.csv.gz into digits.bin. Standard library only.

    pip download --no-deps scikit-learn==1.9.1
    python pack_digits.py scikit_learn-1.9.1-*.whl digits.bin
"""
import gzip
import sys
import zipfile

wheel, packed = sys.argv[1:]
text = gzip.decompress(zipfile.ZipFile(wheel).read("sklearn/datasets/data/digits.csv.gz")).decode()
rows = [[int(float(value)) for value in line.split(",")] for line in text.split()]
assert len(rows) == 1797 and all(len(row) == 65 for row in rows)
assert all(0 <= value <= 16 for row in rows for value in row)

bits = "".join(f"{value:05b}" for row in rows for value in row)
bits += "0" * (-len(bits) % 8)
with open(packed, "wb") as file:
    file.write(int(bits, 2).to_bytes(len(bits) // 8, "big"))
