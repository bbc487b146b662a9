"""Reads metrics as Prometheus's own client library does: metrics_reader.py prometheus|openmetrics

Prints one JSON array for each sample: its name, its labels, its value, and its family's type.
The reader of OpenMetrics refuses whatever the standard forbids: names, order, buckets, the end.
"""
import json
import sys

from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics

read = {
    "prometheus": parser.text_string_to_metric_families,
    "openmetrics": openmetrics.text_string_to_metric_families,
}[sys.argv[1]]
for family in read(sys.stdin.read()):
    if not family.documentation:
        sys.exit(f"{family.name} has no help")
    for sample in family.samples:
        print(json.dumps([sample.name, sample.labels, str(sample.value), family.type]))
