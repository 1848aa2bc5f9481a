"""Applies the patch on standard input to a copy of the repository and shows what is still wrong"""
import os
import shutil
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
with tempfile.TemporaryDirectory() as scratch:
    copy = os.path.join(scratch, "repo")
    shutil.copytree("work/repo", copy)
    # No settings of this machine: the sandbox may not read them.
    own = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    patch = subprocess.run(["git", "-C", copy, "apply", "-"], input=sys.stdin.buffer.read().rstrip() + b"\n", capture_output=True, env=own)
    if patch.returncode:
        sys.exit("the patch does not apply: " + patch.stderr.decode(errors="replace").strip())
    sys.stdout.flush()
    subprocess.run([sys.executable, os.path.join(here, "reproduce.py"), copy], check=True)
