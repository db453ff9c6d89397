"""The machine's profile: measured peak rates, memory bandwidths, and overheads."""

from grader.runtime.machine.records import MachineProfile, from_json, read_profile
from grader.runtime.machine.roofline import roofline_seconds
