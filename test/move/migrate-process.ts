import { migrateStores } from "@convoke/backends/transfer";
import { reportReady } from "../harness/report-ready.ts";

/** Moves tasks, and prints a line after each batch, so that its parent can kill it at any of them. */
const { MOVE_FROM = "", MOVE_TO = "", MOVE_BATCH } = process.env;

reportReady("ready");
const { tasks } = await migrateStores({
  from: MOVE_FROM,
  to: MOVE_TO,
  batchRecords: Number(MOVE_BATCH),
  onProgress: ({ step }) => process.stdout.write(`${step}\n`),
});
process.stdout.write(`moved ${tasks}\n`);
process.exit();
