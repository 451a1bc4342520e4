import { expect, onTestFinished, test } from "vitest";
import type { DatabaseProxy } from "../../../../test/harness/database-proxy.ts";
import { needsPostgres } from "../../../../test/harness/postgres.ts";
import { Connection, toAddress } from "./connection.ts";
import { aCutConnection } from "./cut-connection.suite.ts";
import { Lease, LeaseTimes, startKeeperHere } from "./lease.ts";
import { openPostgresBackend } from "./postgres-backend.ts";

const address = needsPostgres();

/** Long enough that renewals come in time on a busy machine, too. */
const LEASE_MS = 3000;
/** A bound on hanging: a renewal is due every second. */
const EVENTUALLY = { timeout: 20_000, interval: 20 };

/** A lease in a schema that exists, which ends with the test. */
async function aLease(url: string): Promise<Lease> {
  await (await openPostgresBackend({ url })).close();
  const connection = await aCutConnection(url);
  const settings = { url: connection.url, schema: toAddress(url).schema, leaseMs: LEASE_MS };
  const lease = new Lease(
    { ...settings, host: "here", software: "test" },
    startKeeperHere,
    ({ message }) => expect.fail(message),
  );
  onTestFinished(() => lease.close());
  await lease.registered;
  proxies.set(lease, connection);
  return lease;
}

const proxies = new WeakMap<Lease, DatabaseProxy>();

test("the lease is held while the main thread is blocked for longer than it", async () => {
  const backend = await openPostgresBackend({ url: await address(), leaseMs: LEASE_MS });
  onTestFinished(() => backend.close());
  expect(backend.sharing?.isHeld()).toBe(true);

  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LEASE_MS + 1000);

  expect(backend.sharing?.isHeld()).toBe(true);
  const [replica] = await backend.sharing!.replicas();
  expect(replica).toMatchObject({ isSelf: true, running: 0 });
  expect(replica!.leaseMs).toBeGreaterThan(0);
});

test("a process may take over tasks only after it has held its lease for its whole duration", async () => {
  const lease = await aLease(await address());
  expect([lease.isHeld, lease.isUnbroken]).toEqual([true, false]);

  await expect.poll(() => lease.isUnbroken, EVENTUALLY).toBe(true);

  expect(lease.isHeld).toBe(true);
});

test("a lease that cannot be renewed ends by itself, and is held again when the database is back", async () => {
  const url = await address();
  const lease = await aLease(url);
  const keepCutting = setInterval(() => proxies.get(lease)!.cut(), 5);

  await expect.poll(() => lease.isHeld, EVENTUALLY).toBe(false);
  clearInterval(keepCutting);
  await expect.poll(() => lease.isHeld, EVENTUALLY).toBe(true);

  expect(lease.isUnbroken).toBe(false);
});

test("a lease is renewed by another connection if nothing is answered on the first one", async () => {
  const lease = await aLease(await address());
  proxies.get(lease)!.silence();
  const silentAt = performance.now();

  const renewedAfterMs = (): number => performance.now() - lease.ageMs - silentAt;

  await expect.poll(renewedAfterMs, { timeout: 20_000 }).toBeGreaterThan(0);
});

test("a renewal that was sent before the lease ended and answered after it leaves a gap, in which others could claim", () => {
  const times = new LeaseTimes();
  times.renewed(900, 1000, 1010);
  times.renewed(900, 1300, 1310);
  expect(times.unbrokenSince).toBe(1010);

  times.renewed(900, 1600, 2250);

  expect(times.unbrokenSince).toBe(2250);
});

test("a process that was removed from the list gets another number", async () => {
  const url = await address();
  const lease = await aLease(url);
  const before = lease.replica;
  let isReplaced = false;
  lease.onReplaced = () => {
    isReplaced = true;
  };
  const admin = new Connection(toAddress(url));
  onTestFinished(() => admin.close());

  await admin.rows("DELETE FROM @.replica");
  await expect.poll(() => isReplaced, EVENTUALLY).toBe(true);

  expect(lease.replica).toBeGreaterThan(before);
  expect(lease.isHeld).toBe(true);
});

test("a process whose main thread was blocked for long gets another number, as after a crash", async () => {
  const url = await address();
  await (await openPostgresBackend({ url })).close();
  const times = new LeaseTimes();
  const numbers: number[] = [];
  const settings = { url, schema: toAddress(url).schema, leaseMs: 30, host: "here" };
  // Its main thread has not run yet, as far as it knows.
  const keeper = startKeeperHere(
    { ...settings, software: "test" },
    times.memory,
    ({ replica }) => numbers.push(replica),
    ({ message }) => expect.fail(message),
  );
  onTestFinished(() => keeper.stop());
  await expect.poll(() => numbers.length, EVENTUALLY).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 100));

  times.tick();

  await expect.poll(() => numbers.length, EVENTUALLY).toBe(2);
});
