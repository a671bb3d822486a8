"""python -m tests.soak"""
import sys, tempfile
from pathlib import Path
from tests.soak.parts import PARTS
from tests.soak.rounds import Wanted, soak
with tempfile.TemporaryDirectory() as f:
    r = soak(Wanted(seed=int(sys.argv[1]), minutes=float(sys.argv[2]), parts=tuple(sys.argv[3].split(",")), first=int((sys.argv+[0]*9)[4]), rounds=int(sys.argv[5]) if len(sys.argv)>5 else None), PARTS, Path(f))
print(r.table()); print(r.summary())
