#!/usr/bin/env node
// CommonJS (see package.json beside it): the loader of ES modules alone takes a quarter of a bare start.
if (process.argv[2] === '__complete') {
  require('../dist/complete.cjs').run(require.resolve('../dist/complete.json'));
} else {
  import('../dist/cli.js').then(({ runProcess }) => runProcess());
}
