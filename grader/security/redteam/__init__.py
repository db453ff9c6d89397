"""The hostile suite: attacks on an installation, and whether it withstood them."""

from grader.security.redteam.batch import AttackSettings as AttackSettings
from grader.security.redteam.files import Attack as Attack
from grader.security.redteam.files import attacks_folder as attacks_folder
from grader.security.redteam.files import read_attacks as read_attacks
from grader.security.redteam.judge import AttackResult as AttackResult
from grader.security.redteam.suite import Report as Report
from grader.security.redteam.suite import report_data as report_data
from grader.security.redteam.suite import run_attacks as run_attacks
