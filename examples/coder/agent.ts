import { coder } from "convoke/coder";
import { fileURLToPath } from "node:url";

/** A coding agent for the small project next to this file. It asks before each change. */
export default coder({
  workspace: fileURLToPath(new URL("project", import.meta.url)),
  model: process.env["MODEL"] ?? "demo",
  policy: { mode: "ask", maxMode: "auto-edit" },
});
