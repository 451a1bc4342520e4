import { processAgent } from "convoke";
import { fileURLToPath } from "node:url";

// Try it: npx convoke serve examples/processes/agent.ts

const folder = fileURLToPath(new URL(".", import.meta.url));

/** The program of a few lines in `poet.py`, as an agent. */
export default processAgent({
  name: "poet",
  description: "Writes a poem about roses",
  command: "python3",
  args: ["poet.py"],
  protocol: "json-lines",
  workspace: folder,
});
