"""Embeds a folder of images with Spark: spark-submit embed_spark.py FILE OUT SHARDS.

Spark only starts the shards: each task is one process of seam on one executor, with OUT on a file system that all of them share.
Running it again resumes: complete shards are passed over.
"""

import os
import subprocess
import sys

from pyspark.sql import SparkSession

# Executors have other working directories and environments.
file, out, shards = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3])
paths = {name: os.path.abspath(os.environ[name]) for name in ("TRAINED", "PICTURES") if name in os.environ}


def embed(shard):
    command = ["seam", "run", file, "--run-dir", out, "--shard", f"{shard}/{shards}", "--quiet"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | paths)
    return shard, ran.returncode, ran.stderr.strip()


spark = SparkSession.builder.appName("embed").getOrCreate()
failed = [one for one in spark.sparkContext.parallelize(range(shards), shards).map(embed).collect() if one[1] != 0]
spark.stop()
if failed:
    sys.exit("\n".join(f"shard {shard}: exit code {code}: {text}" for shard, code, text in failed))
