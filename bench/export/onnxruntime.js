// Runs an exported ONNX policy in ONNX Runtime, for `make bench-export`.
//   node onnxruntime.js MODEL OBS_FILE OBS_DIM ACTIONS_FILE
'use strict';
const fs = require('fs');
const ort = require('onnxruntime-node');

function floats(path) {
  const bytes = fs.readFileSync(path);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}

async function main() {
  const [model, obsFile, width, actionsFile] = process.argv.slice(2);
  const obs = floats(obsFile), dim = Number(width), rows = obs.length / dim;
  const session = await ort.InferenceSession.create(
      model, {intraOpNumThreads: 1, interOpNumThreads: 1, executionMode: 'sequential'});
  const all = await session.run({obs: new ort.Tensor('float32', obs, [rows, dim])});
  fs.writeFileSync(actionsFile, Buffer.from(Float32Array.from(all.action.data).buffer));
  let best = Infinity;
  for (let round = 0; round < 20; ++round) {
    const start = process.hrtime.bigint();
    for (let row = 0; row < rows; ++row) {
      const tensor = new ort.Tensor('float32', obs.subarray(row * dim, (row + 1) * dim), [1, dim]);
      await session.run({obs: tensor});
    }
    best = Math.min(best, Number(process.hrtime.bigint() - start) / 1e3 / rows);
  }
  console.log(best.toFixed(2));
}

main().catch((error) => {
  console.error(String(error));
  process.exit(1);
});
