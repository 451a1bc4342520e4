import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { percentile } from "../rounds.ts";

/** The number of pages after which a write-ahead log is written from its start again. */
const PAGES = 1000;

/** Milliseconds for a page to be on the disk. */
export interface DiskTimes {
  readonly p50: number;
  readonly p99: number;
}

/** How long the disk of a folder takes to persist one page the way a write-ahead log writes it. */
export function syncTimes(folder: string, times: number): readonly number[] {
  const path = join(folder, "sync-probe");
  const file = openSync(path, "w");
  const page = Buffer.alloc(4096, 1);
  try {
    return Array.from({ length: times }, (_, turn) => {
      const started = performance.now();
      writeSync(file, page, 0, page.length, (turn % PAGES) * page.length);
      fdatasyncSync(file);
      return performance.now() - started;
    });
  } finally {
    closeSync(file);
    rmSync(path);
  }
}

export function diskTimes(times: readonly number[]): DiskTimes {
  return { p50: percentile(times, 50), p99: percentile(times, 99) };
}
