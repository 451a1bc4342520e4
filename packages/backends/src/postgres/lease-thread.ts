import { parentPort, workerData } from "node:worker_threads";
import { type KeeperData, startKeeperHere } from "./lease.ts";

const { settings, memory } = workerData as KeeperData;

startKeeperHere(
  settings,
  memory,
  (report) => parentPort?.postMessage(report),
  (error) => {
    throw error;
  },
);
