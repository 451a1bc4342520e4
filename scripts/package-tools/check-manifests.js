// Checks Kubernetes manifests, compose files, files of Prometheus and workflows against deploy/schemas:
// node check-manifests.js <file>…
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parseAllDocuments } from "yaml";

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true, strictRequired: false });
for (const name of ["kubernetes", "compose", "prometheus", "workflow"]) {
  const schema = new URL(`../../deploy/schemas/${name}.json`, import.meta.url);
  ajv.addSchema(JSON.parse(await readFile(schema, "utf8")), name);
}

for (const file of process.argv.slice(2)) {
  const documents = parseAllDocuments(await readFile(file, "utf8"), { strict: true });
  if (documents.length === 0) report(file, "it is empty");
  for (const document of documents) {
    for (const { message } of [...document.errors, ...document.warnings]) report(file, message);
    check(file, document.toJS());
  }
}

function check(file, value) {
  const name = schemaFor(value ?? {});
  const validate = ajv.getSchema(name);
  if (validate === undefined) return report(file, `there is no schema ${name}`);
  if (validate(value)) return;
  for (const { instancePath, message, params } of validate.errors) {
    report(file, `${instancePath || "/"} ${message} ${JSON.stringify(params)}`);
  }
}

/** Only Kubernetes says what a file is. */
function schemaFor({ kind, services, jobs }) {
  if (kind !== undefined) return `kubernetes#/$defs/${kind}`;
  if (jobs !== undefined) return "workflow";
  return services === undefined ? "prometheus" : "compose";
}

function report(file, problem) {
  console.log(`${basename(file)}: ${problem}`);
  process.exitCode = 1;
}
