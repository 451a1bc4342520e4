import { stopPostgres } from "./postgres.ts";

/** Runs once, after all tests. */
export function teardown(): void {
  stopPostgres();
}
