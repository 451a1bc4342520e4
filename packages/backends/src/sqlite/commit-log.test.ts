import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { COMMIT_LOG, CommitLog, type CommitLogOptions, LONGEST_RECORD } from "./commit-log.ts";
import { temporaryFolder } from "./temporary-folder.suite.ts";

const RUNS = Number(process.env["CONVOKE_PROPERTY_RUNS"] ?? 30);

describe("the records of a commit log", () => {
  test("are read back by the next process, and continue after them", () => {
    const options = aLog();
    write(options, ["one", "Ünïcödé 🙂", ""]);

    const next = new CommitLog(options);
    expect(next.isLeft).toBe(true);
    expect([...next.recordsAfter(0)]).toEqual([
      { number: 1, text: "one" },
      { number: 2, text: "Ünïcödé 🙂" },
      { number: 3, text: "" },
    ]);
    expect(next.append("four")).toBe(4);

    expect([...new CommitLog(options).recordsAfter(2)].map(({ text }) => text)).toEqual([
      "",
      "four",
    ]);
  });

  test("are for this user only", () => {
    const options = aLog();
    write(options, ["one"]);

    expect(statSync(options.file).mode & 0o777).toBe(0o600);
  });

  test("end where a write was cut off or changed, and those before are whole", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "grapheme" }), { minLength: 1, maxLength: 6 }),
        fc.nat(),
        fc.boolean(),
        (texts, where, isCut) => {
          const options = aLog();
          const ends = write(options, texts);
          const bytes = readFileSync(options.file);
          const place = where % ends.at(-1)!;
          if (isCut) bytes.fill(0, place);
          else bytes[place] = bytes[place]! ^ 0x41;
          writeFileSync(options.file, bytes);

          const left = [...new CommitLog(options).recordsAfter(0)].map(({ text }) => text);

          const whole = ends.filter((end) => end <= place).length;
          // A text may end with the bytes that it is cut to.
          expect(left.length).toBeGreaterThanOrEqual(whole);
          expect(left).toEqual(texts.slice(0, left.length));
          if (!isCut) expect(left.length).toBe(whole);
        },
      ),
      { numRuns: RUNS },
    );
  });

  test("are not those of an earlier beginning of the file", () => {
    const options = aLog();
    const log = new CommitLog(options);
    for (const text of ["a longer record", "another one", "a third"]) log.append(text);
    log.restart();
    log.append("short");

    expect([...new CommitLog({ ...options, applied: 3 }).recordsAfter(3)]).toEqual([
      { number: 4, text: "short" },
    ]);
  });

  test("are not those of another database, or of one that has lost what came before", () => {
    const options = aLog();
    const log = new CommitLog(options);
    log.append("one");
    log.restart();
    log.append("two");

    expect([...new CommitLog({ ...options, id: "ffffffffffffffff" }).recordsAfter(1)]).toEqual([]);
    expect([...new CommitLog(options).recordsAfter(0)]).toEqual([]);
    expect([...new CommitLog(options).recordsAfter(1)]).toHaveLength(1);
  });

  test("fit into the file until it is full, in which case it has to be begun again", () => {
    const options = aLog();
    const log = new CommitLog(options);
    const longest = "€".repeat(LONGEST_RECORD);
    let count = 0;
    for (; !log.isFullFor(longest); count += 1) log.append(longest);
    const size = statSync(options.file).size;

    expect(count).toBeGreaterThan(0);
    expect([...new CommitLog(options).recordsAfter(0)]).toHaveLength(count);
    log.restart();
    log.append("again");
    expect(statSync(options.file).size).toBe(size);
  });

  test("leave no byte behind when the log is erased, or its space is released", () => {
    const options = aLog();
    const log = new CommitLog(options);
    log.append("secret");
    log.releaseSpace();
    expect(statSync(options.file).size).toBeLessThan(100);
    log.append("secret");
    log.restart();

    log.erase();

    expect(readFileSync(options.file).every((byte) => byte === 0)).toBe(true);
    log.append("later");
    expect([...new CommitLog({ ...options, applied: 2 }).recordsAfter(2)]).toHaveLength(1);
  });
});

function aLog(): CommitLogOptions {
  const folder = temporaryFolder();
  mkdirSync(folder, { recursive: true });
  return { file: join(folder, COMMIT_LOG), id: "0123456789abcdef", applied: 0, isSynced: false };
}

/** Writes records, and returns where each ends. */
function write(options: CommitLogOptions, texts: readonly string[]): readonly number[] {
  const log = new CommitLog(options);
  let end = 0;
  return texts.map((text) => {
    log.append(text);
    log.sync();
    return (end += 24 + Buffer.byteLength(text));
  });
}
