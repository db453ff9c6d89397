"""Fills the blueprint of a set with the problems of a bank."""

from grader.bank.blueprint.fill import fill_blueprint
from grader.bank.blueprint.groups import Group, group_in_slot
from grader.bank.blueprint.totals import Totals

__all__ = ["Group", "Totals", "fill_blueprint", "group_in_slot"]
