import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** HTTP/2 and the forms of fetch, a third of undici, which we never use. */
const UNUSED = /\/undici\/lib\/(dispatcher\/client-h2|web\/fetch\/body)\.js$/;

/**
 * undici's main file loads fetch, WebSocket, and more, which doubles the start-up time of every call of the service. What
 * only proxies need is loaded when it is used.
 */
export const slimUndici = {
  name: 'slim-undici',
  load(id) {
    if (UNUSED.test(id)) return 'module.exports = {};';
    if (!id.endsWith('/undici/index.js')) return null;
    return `
      const { prototype } = require('./lib/dispatcher/dispatcher');
      prototype.request = require('./lib/api/api-request');
      exports.buildConnector = require('./lib/core/connect');
      exports.Client = require('./lib/dispatcher/client');
      exports.Pool = require('./lib/dispatcher/pool');
      Object.defineProperty(exports, 'EnvHttpProxyAgent', {
        get() {
          prototype.connect = require('./lib/api/api-connect');
          return require('./lib/dispatcher/env-http-proxy-agent');
        },
      });
    `;
  },
};

/**
 * Node 20 optimizes undici's WebAssembly parser at the first response, for 70 ms, which the exit waits for: the budget is how
 * much it may run before. A module keeps the one that it was created with. It is set back, because V8 rejects compiled code
 * that was kept under other flags.
 */
export const simpleParser = {
  name: 'simple-parser',
  transform(code, id) {
    if (!id.endsWith('/undici/lib/dispatcher/client-h1.js')) return null;
    const create = "mod = new WebAssembly.Module(require('../llhttp/llhttp_simd-wasm.js'))";
    if (!code.includes(create)) throw new Error('undici creates its parser in another way');
    return code.replace(
      create,
      `const setBudget = (budget) => {
        if (process.version.startsWith('v20.')) require('node:v8').setFlagsFromString('--wasm-tiering-budget=' + budget);
      };
      setBudget(200_000_000);
      ${create};
      setBudget(1_800_000);`,
    );
  },
};

const ASSERT = '\0assert';

/** What undici needs of Node's assert. That one warns that NO_COLOR is ignored where FORCE_COLOR is set, too; here, it wins. */
export const plainAssert = {
  name: 'plain-assert',
  resolveId: (id, importer) => (id === 'node:assert' && importer?.includes('/undici/') ? ASSERT : null),
  load: (id) =>
    id === ASSERT ? "module.exports = (value, message = 'assertion failed') => { if (!value) throw new Error(message); };" : null,
};

/** commander can run subcommands that are programs, which we have none of: Node's module for them is not loaded. */
export const lazyCommander = {
  name: 'lazy-commander',
  transform(code, id) {
    if (!id.endsWith('/commander/lib/command.js')) return null;
    const load = "require('node:child_process')";
    if (!code.includes(`const childProcess = ${load};`)) throw new Error('commander loads its modules in another way');
    return code.replace(`const childProcess = ${load};`, `const childProcess = { spawn: (...args) => ${load}.spawn(...args) };`);
  },
};

/**
 * What our string-width creates when it is loaded, and needs only for text beyond ASCII: as a literal, the expression of emoji
 * takes 35 ms to parse and create, and the segmenter 20 ms.
 */
const WIDTH_TOOLS = {
  'const segmenter = new Intl.Segmenter();':
    'let ownSegmenter; const segmenter = { segment: (text) => (ownSegmenter ??= new Intl.Segmenter()).segment(text) };',
  'const rgiEmojiRegex = /^\\p{RGI_Emoji}$/v;':
    "let ownEmoji; const rgiEmojiRegex = { test: (text) => (ownEmoji ??= new RegExp('^\\\\p{RGI_Emoji}$', 'v')).test(text) };",
};

export const lazyWidth = {
  name: 'lazy-width',
  transform(code, id) {
    if (!/^(?!.*node_modules.*node_modules).*\/string-width\/index\.js$/.test(id)) return null;
    return Object.entries(WIDTH_TOOLS).reduce((text, [create, createLazily]) => {
      if (!text.includes(create)) throw new Error('string-width creates its tools in another way');
      return text.replace(create, () => createLazily);
    }, code);
  },
};

/** @returns the directory of the package that a bundled file is from, or undefined for our own files */
function packageDirectory(moduleId) {
  return /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(moduleId)?.[1];
}

/** @returns what names the package, and its license text */
async function readLicense(directory) {
  const { name, version, license } = JSON.parse(await readFile(join(directory, 'package.json'), 'utf8'));
  const files = (await readdir(directory)).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file)).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(directory, file), 'utf8')));
  const source = `https://www.npmjs.com/package/${name}/v/${version}`;
  return { head: `${name} ${version} (${license})\n${source}`, text: texts.map((text) => text.trim()).join('\n\n') };
}

/** Writes the license texts of all bundled packages, which they ask to be kept with copies of their code; each text once. */
export const licenses = {
  name: 'licenses',
  async generateBundle(_options, bundle) {
    const moduleIds = Object.values(bundle).flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
    const directories = new Set(moduleIds.map(packageDirectory).filter(Boolean));
    const headsByText = new Map();
    for (const { head, text } of await Promise.all([...directories].sort().map(readLicense))) {
      headsByText.set(text, (headsByText.get(text) ?? new Set()).add(head));
    }
    const sections = [...headsByText].map(([text, heads]) => `${[...heads].join('\n')}\n\n${text}`);
    const source = `${sections.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
    this.emitFile({ type: 'asset', fileName: 'THIRD-PARTY-LICENSES.txt', source });
  },
};
