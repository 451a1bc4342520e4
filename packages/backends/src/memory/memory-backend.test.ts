import { describeBackend } from "@convoke/server/testing";
import { createMemoryBackend } from "./memory-backend.ts";

describeBackend("the memory backend", async () => createMemoryBackend());
