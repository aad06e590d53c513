"""Prints, as JSON, what of a wheel is not as its RECORD says, and its metadata."""

import base64
import csv
import email
import hashlib
import io
import json
import sys
import zipfile

wheel = zipfile.ZipFile(sys.argv[1])
names = wheel.namelist()
(record,) = (name for name in names if name.endswith(".dist-info/RECORD"))
listed = {row[0]: row[1:] for row in csv.reader(io.StringIO(wheel.read(record).decode()))}
faults = [f"{name} is not listed" for name in names if name not in listed]
faults += [f"{name} is listed and not there" for name in listed if name not in names]
faults += [f"{name} is there twice" for name in set(names) if names.count(name) > 1]
for name, (digest, size) in listed.items():
    if name == record:
        continue
    content = wheel.read(name)
    found = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    if (digest, size) != (found, str(len(content))):
        faults.append(f"{name} has another hash or size")

dist_info = record[: -len("RECORD")]
metadata = email.message_from_bytes(wheel.read(dist_info + "METADATA"))
json.dump(
    {
        "faults": faults,
        "folders": sorted({name.split("/")[0] for name in names}),
        "programs": sorted(one.filename for one in wheel.infolist() if one.external_attr >> 16 & 0o111),
        "metadata": dict(metadata.items()),
        "description": metadata.get_payload().splitlines()[0],
        "inDistInfo": sorted(name[len(dist_info) :] for name in names if name.startswith(dist_info)),
    },
    sys.stdout,
)
