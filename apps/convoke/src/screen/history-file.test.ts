import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { HistoryFile, historyPath } from "./history-file.ts";

function aPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "convoke-history-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "state", "history.jsonl");
}

test("what was typed is there in the next chat, and only this user can read it", () => {
  const path = aPath();
  const history = new HistoryFile(path);

  history.add("one\ntwo");
  history.add(" not this");
  history.add("three");

  expect(new HistoryFile(path).read()).toEqual(["one\ntwo", "three"]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("the file is bounded, and lines that are not entries are skipped", () => {
  const path = aPath();
  const history = new HistoryFile(path);
  history.add("first");
  const many = Array.from({ length: 2000 }, (_, place) => JSON.stringify(`entry ${place}`));
  writeFileSync(path, `${many.join("\n")}\n{"not": "text"}\nbroken\n"last"\n`);
  chmodSync(path, 0o644);

  const entries = history.read();

  expect(entries).toHaveLength(500);
  expect(entries.at(-1)).toBe("last");
  expect(readFileSync(path, "utf8").split("\n")).toHaveLength(501);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("without a place for it, or with an unreadable one, there is no history", () => {
  const unusable = new HistoryFile("/dev/null/history");

  unusable.add("one");

  expect(unusable.read()).toEqual([]);
  expect(historyPath({})).toBeUndefined();
  expect(historyPath({ HOME: "/home/ann" })).toBe(
    "/home/ann/.local/state/convoke/chat-history.jsonl",
  );
  expect(historyPath({ HOME: "/home/ann", XDG_STATE_HOME: "/s" })).toBe(
    "/s/convoke/chat-history.jsonl",
  );
});
