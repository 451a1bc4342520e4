import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { span } from "./cells.ts";
import { type LiveArea, Painter } from "./painter.ts";
import { VirtualScreen } from "./testing/virtual-screen.suite.ts";

const live = (...lines: readonly string[]): LiveArea => ({
  lines: lines.map((text) => [span(text)]),
  row: lines.length - 1,
  column: 0,
});
const finished = (...lines: readonly string[]) => lines.map((text) => [span(text)]);

describe("a painter", () => {
  test("keeps finished lines above the live area, and puts the cursor where it belongs", () => {
    const screen = new VirtualScreen(20, 6);
    const painter = new Painter(screen, false);

    painter.paint(finished("one"), { ...live("> ab", "status"), row: 0, column: 4 });
    painter.paint(finished("two", "three"), { ...live("> abc", "status"), row: 0, column: 5 });

    expect(screen.text).toBe("one\ntwo\nthree\n> abc\nstatus");
    expect(screen.cursor).toEqual({ row: 3, column: 5 });
    painter.close();
    expect(screen.text).toBe("one\ntwo\nthree");
  });

  test("shows full lines whole, and cuts live lines that are too wide", () => {
    const screen = new VirtualScreen(10, 5);

    new Painter(screen, false).paint(finished("0123456789"), live("0123456789", "日本語日本語"));

    expect(screen.text).toBe("0123456789\n0123456789\n日本語日…");
  });

  test("finished lines are on the screen once and in order, whatever was painted below them", () => {
    const steps = fc.array(fc.tuple(fc.nat(4), fc.integer({ min: 1, max: 6 })), { maxLength: 20 });
    fc.assert(
      fc.property(steps, (counts) => {
        const screen = new VirtualScreen(20, 8);
        const painter = new Painter(screen, true);
        let number = 0;
        for (const [count, height] of counts) {
          const lines = Array.from({ length: count }, () => `line ${(number += 1)}`);
          painter.paint(finished(...lines), live(...Array.from({ length: height }, () => "live")));
        }
        painter.close();
        const expected = Array.from({ length: number }, (_, place) => `line ${place + 1}`);

        expect(screen.all.split("\n").filter((line) => line !== "")).toEqual(expected);
      }),
    );
  });

  test("paints the newest lines again after the screen was resized", () => {
    const screen = new VirtualScreen(20, 10);
    const painter = new Painter(screen, false);
    painter.paint(finished("one", "two", "three"), live("live"));

    screen.resize(10, 3);
    painter.repaint(finished("one", "two", "three"), live("live"));

    expect(screen.text).toBe("two\nthree\nlive");
  });
});
