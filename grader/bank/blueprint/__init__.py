"""Fills the blueprint of a set with the problems of a bank."""

from grader.bank.blueprint.fill import fill_blueprint
from grader.bank.blueprint.groups import PartGroup, group_in_slot
from grader.bank.blueprint.totals import PaperTotals
