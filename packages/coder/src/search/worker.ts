// The thread that scans. It gets one job after the other, and answers each with batches and null.
import { parentPort } from "node:worker_threads";
import { FileSearch, type ScanBatch, type ScanRequest, scan } from "./scan.ts";

const port = parentPort!;
let search: FileSearch | undefined;

port.on("message", (request: ScanRequest) => {
  if (request.kind === "candidates") {
    for (const path of request.paths) answer(search?.fileAt(path));
    if (search?.isFull === true) end();
  } else if (request.kind === "end") {
    end();
  } else if (request.kind === "search" && request.candidates === "sent") {
    search = new FileSearch(request);
  } else {
    for (const batch of scan(request)) answer(batch);
    answer(null);
  }
});

/** Ends a search whose candidates are sent; what is sent after that is left unread. */
function end(): void {
  if (search !== undefined) answer(null);
  search = undefined;
}

function answer(batch: ScanBatch | null | undefined): void {
  if (batch !== undefined) port.postMessage(batch);
}
