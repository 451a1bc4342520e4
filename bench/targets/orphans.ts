import { openPostgresBackend } from "@convoke/backends/postgres";
import { leaveOpen } from "../open-tasks.ts";
import { report } from "./control.ts";

/** A process that works on BENCH_TASKS tasks in the database BENCH_DATABASE, in order to be killed. */
const { BENCH_DATABASE: url = "", BENCH_TASKS } = process.env;

await leaveOpen(await openPostgresBackend({ url }), {
  tasks: Number(BENCH_TASKS),
  events: 10,
  agentId: "bench",
});
report("");
