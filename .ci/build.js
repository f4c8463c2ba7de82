import { cp, rm, writeFile } from 'node:fs/promises';
import { build } from 'rolldown';
import { lazyCommander, lazyWidth, licenses, plainAssert, simpleParser, slimUndici } from './plugins.js';

/**
 * Bundles the program into dist/. Start-up time is felt at every call, and each file to load costs about a millisecond:
 * most calls need two chunks (base and core), and heavy libraries are loaded where they are used.
 */

/** The modules that the program starts with. */
const BASE = /^(?!.*node_modules).*\/package\.json$|\/src\/(errors|clock|cli\/(code-cache|compile-cache|installation|io|signals)|output\/(error-object|stream-sink))\.ts$/;

/** The modules that nearly every command needs, and the two that scripts call most: spaces list and agents list. */
const CORE = [
  /\/src\/(main|shell-quote)\.ts$/,
  /\/src\/cli\/(args|command|command-tree|create-context|help-topics|input|parse|prompts|registry|run-command|service|shell-command|state-access|trace)\.ts$/,
  /\/src\/api\/(?!check-|dispatcher|fetch-document|fresh-list|history|list-failure|map-concurrent|raw-|session-probe|verify-token)/,
  /\/src\/contract\/(?!check-|group-by|message-order|session-guard)/,
  /\/src\/config\/(?!keychain|read-secret-line|temporary-file|token-storage|update-|webhook-secret)/,
  /\/src\/commands\/(agents|spaces)\//,
  /\/src\/output\/(color|command-result|create-lazily|error-text|paged|progress|redact|render|sanitize|secret-pattern|sentences)\.ts$/,
  /\/src\/output\/ci\/workflow-commands\.ts$/,
  /\/src\/output\/formats\/(events|json|sequence|stringify-json|tsv)\.ts$/,
];

/** What commands share that create something once. In files of their own, they would take 40 ms to load. */
const GUARDED = [
  /\/src\/(cron\/(?!job-schema|job-file)|state\/|yaml\/(identifier-problem|quote|suggest)\.ts)/,
  /\/src\/(api\/(fresh-list|list-failure|map-concurrent)|contract\/group-by|config\/make-directories)\.ts$/,
  /\/src\/output\/(batch-failure|batch-result|ci\/findings)\.ts$/,
  /\/node_modules\/leven\//,
];

/** What opens the state, always in this order. */
const STATE = /\/src\/(cli\/confirm-write|state\/(open-store|record-author|state-location))\.ts$/;

/** What describes schedules. */
const SCHEDULES = /\/node_modules\/(croner|cronstrue)\//;

/** What reads files of jobs and spaces, with the libraries for it. */
const DOCUMENTS = /\/src\/(yaml\/|cron\/(job-schema|job-file)\.ts)/;

/** The loader of ES modules alone takes a quarter of a bare start, and an import of a module of Node as long as its load. */
const COMMONJS = { format: 'cjs', dynamicImportInCjs: false, minify: true };

const program = {
  input: { cli: 'src/cli/start.ts', 'completion-tree': 'src/cli/completion-tree.ts' },
  platform: 'node',
  preserveEntrySignatures: 'allow-extension',
  plugins: [slimUndici, simpleParser, plainAssert, lazyCommander, lazyWidth, licenses],
  output: {
    dir: 'dist',
    ...COMMONJS,
    cleanDir: true,
    entryFileNames: '[name].cjs',
    chunkFileNames: 'chunks/[name]-[hash].cjs',
    codeSplitting: {
      groups: [
        { name: 'base', test: BASE, priority: 3 },
        { name: 'core', test: (id) => CORE.some((pattern) => pattern.test(id)), priority: 2 },
        { name: 'undici', test: /\/src\/api\/dispatcher\.ts$/, priority: 1 },
        { name: 'guarded', test: (id) => GUARDED.some((pattern) => pattern.test(id)), minShareCount: 2, includeDependenciesRecursively: false },
        { name: 'state', test: STATE, priority: 3, includeDependenciesRecursively: false },
        { name: 'schedules', test: SCHEDULES },
        { name: 'documents', test: DOCUMENTS, minShareCount: 2, includeDependenciesRecursively: false },
      ],
    },
  },
};

const tour = {
  input: { tour: 'src/cli/tour.ts' },
  platform: 'node',
  output: { dir: 'dist', format: 'esm' },
};

/** What runs at each Tab. */
const completer = {
  input: { complete: 'src/completion/entry.ts' },
  platform: 'node',
  output: { dir: 'dist', ...COMMONJS, entryFileNames: '[name].cjs' },
};

/** What prints --version, --help, and `help -o json`. In chunks, because paths of assets are relative to it. */
const prepared = {
  input: { 'print-prepared': 'src/cli/print-prepared.ts' },
  platform: 'node',
  output: { dir: 'dist/chunks', ...COMMONJS, entryFileNames: '[name].cjs' },
};

await build(program);
await build(tour);
await build(completer);
await build(prepared);
await cp('src/help', 'dist/help', { recursive: true });

// The declarations of all commands, for the completer, which must not load them.
const { describeCompletion, scriptFiles } = await import('../dist/completion-tree.cjs');
await writeFile('dist/complete.json', JSON.stringify(await describeCompletion()));
// The completion scripts of each shell, for those who package the program.
for (const [name, text] of Object.entries(scriptFiles())) await writeFile(`completions/${name}`, text);
await rm('dist/completion-tree.cjs');
