"""An agent in Python: it asks for a subject, and answers with a poem."""

import json
import sys


def say(**line):
    print(json.dumps(line), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "message":
        say(type="ask", id="color", text="Which color do roses have?", options=["red", "white"])
    elif message["type"] == "answer":
        for row in ["Roses are ", message["text"], ",\n", "violets are blue."]:
            say(type="text", text=row)
        say(type="artifact", name="poem.json", content={"color": message["text"], "lines": 2})
        say(type="done")
    elif message["type"] == "cancel":
        say(type="error", text="The poem is not finished.")
