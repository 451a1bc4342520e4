import { describe, expect, onTestFinished, test } from "vitest";
import { PostgresAuditStore } from "./audit-store.ts";
import { Connection, toAddress } from "./connection.ts";
import { emptySchemas } from "./empty-schema.suite.ts";
import { openPostgresStores } from "./server-stores.ts";

const schemas = emptySchemas();

describe("two processes on one database", () => {
  /** Their stores, and a connection to look at the tables. */
  async function twoStores() {
    const database = await schemas();
    const { url } = database;
    const a = await openPostgresStores({ url, host: "one" });
    const b = await openPostgresStores({ url, host: "two" });
    onTestFinished(async () => void (await Promise.all([a.close(), b.close()])));
    return { a, b, ...database };
  }

  const HOURLY = { limit: 10, windowMs: 3_600_000 };

  /** Makes all that was counted older, as if that much time had passed. */
  function passing({
    admin,
    schema,
  }: Pick<Awaited<ReturnType<typeof twoStores>>, "admin" | "schema">) {
    return (ms: number) =>
      admin.query(`UPDATE ${schema}.rate SET at = at - ${ms}, full_at = full_at - ${ms},
      times = ARRAY(SELECT t - ${ms} FROM unnest(times) t)`);
  }

  test("draw from one bucket, which is refilled evenly", async () => {
    const { a, b, ...database } = await twoStores();
    const pass = passing(database);

    expect(await a.rates.draw("ann", HOURLY, 4)).toEqual({ drawn: 4, left: 6 });
    const drawn = await Promise.all(
      [a, b, a, b].map((store) => store.rates.draw("ann", HOURLY, 4)),
    );
    expect(drawn.reduce((sum, one) => sum + one.drawn, 0)).toBe(6);
    expect(await b.rates.draw("ann", HOURLY, 4)).toMatchObject({ drawn: 0 });
    expect(await b.rates.draw("bob", HOURLY, 4)).toMatchObject({ drawn: 4 });

    await pass(HOURLY.windowMs / 5);
    expect(await b.rates.draw("ann", HOURLY, 4)).toMatchObject({ drawn: 2 });
    await pass(HOURLY.windowMs * 5);
    expect(await a.rates.draw("ann", HOURLY, 10)).toEqual({ drawn: 10, left: 0 });
  });

  test("forget what they have counted of a caller, and of no other", async () => {
    const { a, b } = await twoStores();
    for (const caller of ["ann", "bob"]) await a.rates.draw(caller, HOURLY, 10);

    await b.rates.forget(["ann", "nobody"]);

    expect(await a.rates.draw("ann", HOURLY, 4)).toMatchObject({ drawn: 4 });
    expect(await a.rates.draw("bob", HOURLY, 4)).toMatchObject({ drawn: 0 });
  });

  test("count arrivals in one window", async () => {
    const { a, b, ...database } = await twoStores();
    const pass = passing(database);
    const rate = { limit: 3, windowMs: 3_600_000 };

    const waits = await Promise.all([a, b, a, b].map((store) => store.rates.arrive("ann", rate)));

    expect(waits.filter((waitMs) => waitMs === 0)).toHaveLength(3);
    expect(Math.max(...waits)).toBeGreaterThan(3_500_000);
    expect(await b.rates.arrive("bob", rate)).toBe(0);
    await pass(3_600_000);
    expect(await b.rates.arrive("ann", rate)).toBe(0);
  });

  test("have one audit log, which keeps only so many entries for so long", async () => {
    const { a, b, url, schema, admin } = await twoStores();
    for (const [index, { audit }] of [a, b, a, b].entries()) {
      await audit.append({ event: "login.failed", json: `{"n":${index}}` });
    }
    const stored = async () =>
      (await admin.query(`SELECT host, event, json FROM ${schema}.audit ORDER BY n`)).rows;
    expect(await stored()).toEqual(
      ["one", "two", "one", "two"].map((host, n) => ({
        host,
        event: "login.failed",
        json: `{"n":${n}}`,
      })),
    );

    const connection = new Connection(toAddress(url));
    const audit = new PostgresAuditStore(connection, "three");
    onTestFinished(async () => {
      audit.close();
      await connection.close();
    });
    await admin.query(
      `UPDATE ${schema}.audit SET at = at - interval '91 days' WHERE json = '{"n":0}'`,
    );
    await audit.sweep();
    expect(await stored()).toHaveLength(3);
    await audit.sweep(90, 2);
    expect((await stored()).map(({ json }) => json)).toEqual(['{"n":2}', '{"n":3}']);
  });
});
