#!/usr/bin/env python3
"""Renders frames and tells backstop about each one, by a line on standard output.

Runs as it stands under `backstop run --once`. After a resume it goes on with the first frame that
is not finished.
"""

import json
import os

FRAMES = 8


def report(**event):
    print("::backstop " + json.dumps(event), flush=True)


def render(frame, attempt):
    """Stands for real work: frame 2 needs a second attempt, frame 6 is never good."""
    return frame != 6 and (frame != 2 or attempt > 1)


for frame in range(int(os.environ.get("BACKSTOP_RESUME_FROM", 0)), FRAMES):
    for attempt in (1, 2):
        report(type="unit", id=f"frame-{frame}", index=frame, status="in_progress", attempts=attempt)
        if render(frame, attempt):
            status = "approved"
            break
        status = "rejected"
    report(type="unit", id=f"frame-{frame}", index=frame, status=status, attempts=attempt)
    print(f"frame {frame}: {status} after {attempt}")
