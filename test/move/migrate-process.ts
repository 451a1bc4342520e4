import { copyToDatabase } from "@convoke/backends/transfer";
import { reportReady } from "../harness/report-ready.ts";

/** Moves tasks, and prints a line after each part, so that its parent can kill it at any of them. */
const { MOVE_FROM = "", MOVE_TO = "" } = process.env;

reportReady("ready");
const { tasks } = await copyToDatabase({
  from: MOVE_FROM,
  to: MOVE_TO,
  onProgress: (copied) => process.stdout.write(`${copied}\n`),
});
process.stdout.write(`moved ${tasks}\n`);
process.exit();
