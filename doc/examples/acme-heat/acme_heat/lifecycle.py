"""Nobody changes a stack while the help desk has its hands full."""

from heat.engine import lifecycle_plugin

from acme_heat import desk


class Freeze(lifecycle_plugin.LifecyclePlugin):
    """Stops operations while there is a file ``freeze``, and keeps a list of those that went through."""

    WATCHED = ("CREATE", "UPDATE")

    def do_pre_op(self, cnxt, stack, current_stack=None, action=None):
        freeze = desk.folder() / "freeze"
        if action in self.WATCHED and freeze.exists():
            raise Exception(f"No {action.lower()} today: {freeze.read_text().strip()}")

    def do_post_op(self, cnxt, stack, current_stack=None, action=None, is_stack_failure=False):
        with open(desk.folder() / "done", "a") as out:
            out.write(f"{stack.name} {action} {'failed' if is_stack_failure else 'done'}\n")

    def get_ordinal(self):
        return 50
