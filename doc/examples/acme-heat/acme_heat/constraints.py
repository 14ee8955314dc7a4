"""What templates may say of queues."""

from heat.common import exception
from heat.engine import constraints

from acme_heat import desk


class QueueConstraint(constraints.BaseCustomConstraint):
    """A queue that the help desk has."""

    expected_exceptions = (exception.EntityNotFound,)

    def validate_with_client(self, client, queue):
        if queue not in desk.queues():
            raise exception.EntityNotFound(entity="Queue", name=queue)
