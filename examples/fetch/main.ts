import { connect } from "convoke";
import app from "./app.ts";

/** Calls the agent without a port: requests go straight to the handler. */
const agent = await connect("http://localhost/agent/", {
  fetch: (input, init) => app.fetch(new Request(input, init)),
});
for await (const event of agent.stream(process.argv[2] ?? "10")) {
  if (event.kind !== "artifact-update") continue;
  for (const part of event.artifact.parts) {
    if (part.kind === "text") process.stdout.write(part.text);
  }
}
process.stdout.write("\n");
process.exit();
