import { createClerk } from "./create-clerk.ts";

// It prints in both possible ways, also while it is loaded.
function print(line: string): void {
  // oxlint-disable-next-line no-console
  console.log(line);
  process.stdout.write("clerk: a word of its own\n");
}

print("clerk: loaded");

// oxlint-disable-next-line import/no-default-export
export default createClerk(print);
