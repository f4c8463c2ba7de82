import { cp } from 'node:fs/promises';
import { build } from 'rolldown';

/**
 * Bundles the program into dist/. Start-up is felt at every call, and every file that is loaded costs about a millisecond:
 * what --version needs is one (base), what every other call needs another (core), and each heavy library is loaded where
 * it is used.
 */

/** Modules of Node that libraries load and this program never uses; each costs several milliseconds. */
const UNUSED = [
  { library: '/undici/', module: 'node:http2' },
  { library: '/commander/', module: 'node:child_process' },
];

const withoutUnused = {
  name: 'without-unused',
  resolveId(source, importer) {
    const unused = UNUSED.some(({ library, module }) => source === module && importer?.includes(library));
    return unused ? '\0unused' : null;
  },
  load(id) {
    return id === '\0unused' ? 'export const constants = {};' : null;
  },
};

/**
 * Libraries of the older module kind ask for Node's own modules with `require`. What makes that function for them loads
 * several internal modules of Node; this one is there already.
 */
const builtinRequire = {
  name: 'builtin-require',
  renderChunk(code) {
    const imported = /import\s*\{\s*createRequire(?:\s+as\s+\w+)?\s*\}\s*from\s*["']node:module["'];?/;
    if (!imported.test(code)) return null;
    return code.replace(imported, '').replace(/\w+\(import\.meta\.url\)/, 'process.getBuiltinModule');
  },
};

const BASE = /\/src\/(errors|clock|cli\/(io|signals)|output\/stream-sink)\.ts$/;
const CORE = /\/src\/(main\.ts|cli\/(registry|parse|args|command-tree|help-topics|trace|command|service|run-command|create-context|input)\.ts|api\/(?!undici|chat|find-agent|provisioning|map-concurrent)|contract\/(?!messages|chat-source|provisioning)|config\/|commands\/(spaces|agents)\/|output\/(command-result|color|progress|redact|sanitize|render|cells|formats\/(events|json|stringify-json|sequence|tsv))\.ts)/;

const program = {
  input: { cli: 'src/cli/start.ts' },
  platform: 'node',
  plugins: [withoutUnused, builtinRequire],
  output: {
    dir: 'dist',
    format: 'esm',
    minify: true,
    cleanDir: true,
    chunkFileNames: 'chunks/[name]-[hash].js',
    codeSplitting: {
      groups: [
        { name: 'base', test: BASE, priority: 4 },
        { name: 'core', test: CORE, priority: 3 },
        { name: 'undici', test: /\/src\/api\/undici\.ts$/, priority: 1 },
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
