import { cp } from 'node:fs/promises';
import { build } from 'rolldown';

/**
 * Bundles the program into dist/. Start-up time is felt at every call, and each file to load costs about a millisecond:
 * --version needs one chunk (base), other calls one more (core), and heavy libraries are loaded where they are used.
 */

/** undici imports node:http2, which we never use. Leaving it out saves about 7 ms per call of the service. */
const withoutHttp2 = {
  name: 'without-http2',
  resolveId: (source, importer) => (source === 'node:http2' && importer?.includes('/undici/') ? '\0no-http2' : null),
  load: (id) => (id === '\0no-http2' ? 'export const constants = {};' : null),
};

/** undici's main file loads fetch, WebSocket, and more, which doubles the start-up time of every call of the service. */
const slimUndici = {
  name: 'slim-undici',
  load(id) {
    if (!id.endsWith('/undici/index.js')) return null;
    return `
      const { prototype } = require('./lib/dispatcher/dispatcher');
      prototype.request = require('./lib/api/api-request');
      prototype.connect = require('./lib/api/api-connect');
      exports.Agent = require('./lib/dispatcher/agent');
      exports.EnvHttpProxyAgent = require('./lib/dispatcher/env-http-proxy-agent');
      exports.Pool = require('./lib/dispatcher/pool');
    `;
  },
};

/** The modules that --version and --help need. */
const BASE = /\/src\/(errors|clock|cli\/(io|signals)|output\/stream-sink)\.ts$/;

/** The modules that nearly every command needs, and the two that scripts call most: spaces list and agents list. */
const CORE = [
  /\/src\/main\.ts$/,
  /\/src\/cli\/(args|command|command-tree|create-context|debug-file|help-topics|input|parse|registry|run-command|service|trace)\.ts$/,
  /\/src\/api\/(?!chat|check-contract|cron-jobs|dispatcher|fetch-document|fresh-list|history|map-concurrent|provisioning|uploads)/,
  /\/src\/contract\/(?!chat-source|check-|cron|history-|message|openapi|provisioning|uploads)/,
  /\/src\/config\/(?!contract-changes|find-leaf|update-)/,
  /\/src\/commands\/(agents|spaces)\//,
  /\/src\/output\/(color|command-result|progress|redact|render|sanitize|secret-pattern)\.ts$/,
  /\/src\/output\/formats\/(events|json|sequence|stringify-json|tsv)\.ts$/,
];

const program = {
  input: { cli: 'src/cli/start.ts' },
  platform: 'node',
  plugins: [withoutHttp2, slimUndici],
  output: {
    dir: 'dist',
    format: 'esm',
    minify: true,
    cleanDir: true,
    chunkFileNames: 'chunks/[name]-[hash].js',
    codeSplitting: {
      groups: [
        { name: 'base', test: BASE, priority: 3 },
        { name: 'core', test: (id) => CORE.some((pattern) => pattern.test(id)), priority: 2 },
        { name: 'undici', test: /\/src\/api\/dispatcher\.ts$/, priority: 1 },
      ],
    },
  },
};

const tour = {
  input: { tour: 'src/tour.ts' },
  platform: 'node',
  output: { dir: 'dist', format: 'esm' },
};

await build(program);
await build(tour);
await cp('src/help', 'dist/help', { recursive: true });
