import { describeBackend } from "@convoke/engine/testing";
import { opensEmptySchemas } from "./empty-schema.suite.ts";

describeBackend("the Postgres backend", opensEmptySchemas(), { isAlwaysPerAgent: true });
