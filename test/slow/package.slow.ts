import { mkdtempSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { beforeAll, describe, expect, test } from 'vitest';
import { spawnFile } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** No registry listens there. */
const NO_REGISTRY = { npm_config_registry: 'http://127.0.0.1:9/', npm_config_update_notifier: 'false' };

const MANIFEST = `external_space_id: acme-001
space: { name: Acme, description: Support for Acme, is_org_wide: false }
agents:
  - { template_id: tmpl_support, name: Support, auto_create_api_chat: true, api_chat_routing_mode: session_workflow }
`;

/** Node and the tools that come with it. */
const NODE_PATH = dirname(process.execPath);

/** The first provision against a sandbox, twice, with an installed program, as its first user would do it. */
async function expectFirstProvision(program: string, path: string): Promise<void> {
  const home = tempDirectory();
  writeFileSync(join(home, 'acme.yaml'), MANIFEST);
  const run = (args: string[]) => spawnFile(program, args, { cwd: home, env: { HOME: home, PATH: path } });
  expect(await run(['--version'])).toMatchObject({ stdout: `${version}\n`, stderr: '', exitCode: 0 });
  const topic = await run(['help', 'manifest']);
  expect(topic).toMatchObject({
    stdout: expect.stringMatching(/^# Manifests\n.*## Results\n/s),
    exitCode: 0,
  });
  // Each line is a process that finds the sandbox in its environment, and the program in its PATH.
  const lines = ['provision acme.yaml -o json', 'provision acme.yaml -o json', 'help -o json --query name'];
  const script = lines.map((line) => `partnerctl ${line} >> results.json`).join(' && ');
  const rehearsal = await run(['sandbox', 'run', '--', '/bin/sh', '-c', script]);
  expect(rehearsal).toMatchObject({ stderr: '', exitCode: 0 });
  const [first, second, name] = readFileSync(join(home, 'results.json'), 'utf8').split(/(?<=^\})\n/m);
  expect(JSON.parse(first ?? '')).toMatchObject({ summary: { created: 1 }, results: [{ status: 'created' }] });
  expect(JSON.parse(second ?? '')).toMatchObject({ summary: { unchanged: 1 }, results: [{ status: 'unchanged' }] });
  expect(name).toBe('"partnerctl"\n');
}

/** A tool of a package manager, on this Node, with its own caches, and without a registry. */
async function withoutRegistry(cwd: string, command: string, ...args: string[]): Promise<string> {
  const home = tempDirectory();
  const PATH = [NODE_PATH, process.env.PATH].join(delimiter);
  const { stdout } = await execa(command, args, { cwd, extendEnv: false, env: { HOME: home, PATH, ...NO_REGISTRY } });
  return stdout;
}

/** Every file below a directory. */
function filesBelow(directory: string): string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

describe('the package', () => {
  let tarball: string;

  beforeAll(async () => {
    // The test run has built the program.
    const directory = mkdtempSync(join(tmpdir(), 'partnerctl-test-'));
    await execa('npm', ['pack', '--ignore-scripts', '--pack-destination', directory], { cwd: ROOT });
    tarball = join(directory, `partnerctl-${version}.tgz`);
    return () => rm(directory, { recursive: true, force: true });
  });

  test('installs with npm into an empty directory without a registry: one package, at most 3 MB', async () => {
    const directory = tempDirectory();
    expect(await withoutRegistry(directory, 'npm', 'install', '--offline', tarball)).toContain('added 1 package');
    const installed = join(directory, 'node_modules');
    expect(readdirSync(installed).filter((name) => !name.startsWith('.'))).toEqual(['partnerctl']);
    const bytes = filesBelow(join(installed, 'partnerctl')).reduce((sum, file) => sum + statSync(file).size, 0);
    expect(bytes).toBeLessThanOrEqual(3_000_000);
    await expectFirstProvision(join(installed, '.bin', 'partnerctl'), NODE_PATH);
  });

  test('contains its topics, its completions, and the licenses of bundled code, and no test or tour', async () => {
    const { stdout } = await execa('tar', ['-tzf', tarball]);
    const files = stdout.split('\n').map((file) => file.replace(/^package\//, ''));
    expect(files).toEqual(
      expect.arrayContaining([
        'README.md',
        'bin/partnerctl.js',
        'dist/help/chat.md',
        'dist/help/skill.md',
        'completions/partnerctl.bash',
      ]),
    );
    const licenses = readFileSync(join(ROOT, 'dist/THIRD-PARTY-LICENSES.txt'), 'utf8');
    for (const name of ['commander', 'undici', 'yaml', '@jmespath-community/jmespath', 'postgres']) {
      expect(licenses).toContain(`\n${name} `);
    }
    expect(files.filter((file) => /^(src|test)\/|tour|\.map$/.test(file))).toEqual([]);
  });

  test('runs from a directory with spaces, through a symbolic link, and installed for all users', async () => {
    const prefix = join(tempDirectory(), 'all users');
    await withoutRegistry(ROOT, 'npm', 'install', '--global', '--offline', '--prefix', prefix, tarball);
    const link = join(tempDirectory(), 'partnerctl');
    symlinkSync(join(prefix, 'bin', 'partnerctl'), link);
    await expectFirstProvision(link, NODE_PATH);
  });
});
