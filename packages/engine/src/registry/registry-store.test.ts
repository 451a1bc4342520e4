import { describeRegistryStore } from "../testing/describe-registry-store.ts";
import { MemoryRegistryStore } from "./registry-store.ts";

describeRegistryStore("the registry in memory", async () => new MemoryRegistryStore());
