#!/usr/bin/env node
// CommonJS (see package.json beside it), as all of dist: the loader of ES modules alone takes a quarter of a bare start.
if (process.argv[2] === '__complete') {
  const { readFileSync } = require('node:fs');
  const readTree = () => readFileSync(require.resolve('../dist/complete.json'), 'utf8');
  require('../dist/complete.cjs').run(readTree, [process.execPath, __filename]);
} else if (!require('../dist/chunks/print-prepared.cjs').printPrepared(process.argv.slice(2))) {
  require('../dist/cli.cjs').runProcess();
}
