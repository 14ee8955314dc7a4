"""A version of the language with a function of our own."""

from heat.engine import function
from heat.engine.hot import template


class Urgent(function.Function):
    """A title that nobody overlooks."""

    def validate(self):
        super().validate()
        if not isinstance(function.resolve(self.args), (str, type(None))):
            raise TypeError(f'"{self.fn_name}" takes a text')

    def result(self):
        title = function.resolve(self.args)
        return None if title is None else f"[URGENT] {title}"


class AcmeTemplate(template.HOTemplate20210416):
    """HOT 2021-04-16 and ``urgent``."""

    functions = {**template.HOTemplate20210416.functions, "urgent": Urgent}
