// The thread that scans. It gets one job after the other, and answers each with batches and null.
import { parentPort } from "node:worker_threads";
import { type ScanJob, scan } from "./scan.ts";

const port = parentPort!;

port.on("message", (job: ScanJob) => {
  for (const batch of scan(job)) port.postMessage(batch);
  port.postMessage(null);
});
