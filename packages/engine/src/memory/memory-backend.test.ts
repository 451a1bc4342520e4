import { describeBackend } from "../testing/describe-backend.ts";
import { createMemoryBackend } from "./memory-backend.ts";

describeBackend("the memory backend", async () => createMemoryBackend());
