"""Where events go besides the database."""

import json

from acme_heat import desk


class Journal:
    """Writes events to a file of the help desk; arguments are what the environment says beside ``type``."""

    def __init__(self, label):
        self.label = label

    def consume(self, context, event):
        line = {"label": self.label, **event["payload"]}
        with open(desk.folder() / "journal", "a") as out:
            out.write(json.dumps(line) + "\n")
