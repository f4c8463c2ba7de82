import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import pkg from '../../package.json' with { type: 'json' };
import { run, tempDirectory } from '../support/run.ts';

const DIST = new URL('../../dist/', import.meta.url);

interface Described {
  readonly global_flags: readonly { flag: string }[];
  readonly exit_codes: readonly { code: number; meaning: string }[];
  readonly groups: readonly { group: string; summary: string }[];
  readonly topics: readonly { name: string; summary: string }[];
  readonly commands: readonly {
    command: string;
    summary: string;
    arguments: readonly { name: string }[];
    flags: readonly { flag: string; value: string | null }[];
    exit_codes: readonly { code: number; meaning: string }[];
    examples: readonly { command: string }[];
  }[];
}

let program: Described;

beforeAll(async () => {
  program = JSON.parse((await run(['help', '-o', 'json'], { env: { HOME: '/dev/null/home' } })).stdout);
});

/** The source of a page, with its escapes undone. */
function readPage(name: string, section: number): string {
  const file = `man/${['partnerctl', ...name.split(' ')].filter(Boolean).join('-')}.${section}.gz`;
  return gunzipSync(readFileSync(new URL(file, DIST)))
    .toString()
    .replaceAll('\\-', '-')
    .replace(/\\\((aq|ti|ga|ha)/g, (_, name: string) => ({ aq: "'", ti: '~', ga: '`', ha: '^' })[name] ?? '')
    .replace(/\\f[BIR]/g, '');
}

/** Unpacks every page. @returns their paths */
function unpackPages(): string[] {
  const directory = tempDirectory();
  return readdirSync(new URL('man/', DIST)).map((name) => {
    const path = join(directory, name.replace(/\.gz$/, ''));
    writeFileSync(path, gunzipSync(readFileSync(new URL(`man/${name}`, DIST))));
    return path;
  });
}

function hasTool(name: string): boolean {
  return spawnSync(name, ['--version']).error === undefined;
}

describe('the manual', () => {
  it('has a page for the program, each group, command, and topic, and npm installs all of them', () => {
    const expected = [
      'partnerctl.1.gz',
      ...[...program.groups.map(({ group }) => group), ...program.commands.map(({ command }) => command)].map(
        (path) => `partnerctl-${path.replaceAll(' ', '-')}.1.gz`,
      ),
      ...program.topics.map(({ name }) => `partnerctl-${name}.7.gz`),
    ];
    expect(readdirSync(new URL('man/', DIST)).sort()).toEqual(expected.sort());
    // npm installs only the pages that package.json lists, and no directory.
    expect(pkg.man.toSorted(), 'the list "man" in package.json').toEqual(expected.map((name) => `dist/man/${name}`));
  });

  it('names every command and topic, every global flag, and every exit code in the page of the program', () => {
    const page = readPage('', 1);
    for (const { command, summary } of program.commands) {
      expect(page).toContain(`partnerctl-${command.replaceAll(' ', '-')}(1)\n${summary}.\n`);
    }
    for (const { name } of program.topics) expect(page).toContain(`partnerctl-${name}(7)\n`);
    for (const { flag } of program.global_flags) expect(page).toContain(flag);
    for (const { code, meaning } of program.exit_codes) expect(page).toContain(`\n${code}\n${meaning}.\n`);
  });

  it("lists a command's arguments, flags, exit codes, and examples in its page", () => {
    for (const { command, arguments: args, flags, exit_codes: exits, examples } of program.commands) {
      const page = readPage(command, 1);
      for (const { name } of args) expect(page).toContain(`.TP\n${name}\n`);
      for (const { flag, value } of flags) expect(page).toContain(value === null ? `${flag}\n` : `${flag} ${value}\n`);
      for (const { code, meaning } of exits) expect(page).toContain(`\n${code}\n${meaning}.\n`);
      for (const { command: line } of examples) expect(page).toContain(`\n${line.replaceAll('\\', '\\e')}\n`);
    }
  });

  it('lists the fields of the JSON output, the flags that change it, and defaults', () => {
    const page = readPage('cron create', 1);
    expect(page).toMatch(/With -o json, an object with these fields:\n\.TP\ncron_job_id\n/);
    expect(page).toMatch(/With --file -o json, a list of objects with these fields:\n/);
    expect(page).toContain('With --schema, it prints\nthe JSON Schema of a file of jobs.\n');
    expect(page).toMatch(/^--timezone zone\n.*\nDefault: .*\.$/m);
  });

  it('marks a flag as required, unless another flag replaces it', () => {
    expect(readPage('webhook replay', 1)).toMatch(/--forward-to url\n.*\nRequired\.\n/);
    const page = readPage('cron create', 1);
    expect(page).not.toContain('\nRequired.\n');
    expect(page).toContain('--name is required, unless --file or --schema is given.');
  });

  it.skipIf(!hasTool('mandoc'))('causes no warnings in mandoc (needs mandoc)', () => {
    expect(spawnSync('mandoc', ['-T', 'lint', '-W', 'warning', ...unpackPages()], { encoding: 'utf8' }).stdout).toBe(
      '',
    );
  });

  it.skipIf(!hasTool('groff'))('causes no warnings in groff (needs groff)', () => {
    const shown = spawnSync('groff', ['-man', '-ww', '-Tutf8', '-z', ...unpackPages()], { encoding: 'utf8' });
    expect(shown).toMatchObject({ status: 0, stderr: '' });
  });
});

describe('SKILL.md', () => {
  const skill = readFileSync(new URL('skills/partnerctl/SKILL.md', DIST), 'utf8');

  it('starts with its name, which is that of its directory, and a description that says when to use it', () => {
    const [, name, description = ''] = /^---\nname: (\S+)\ndescription: (.*)\n---\n/.exec(skill) ?? [];
    expect(name).toBe('partnerctl');
    expect(description.length).toBeLessThanOrEqual(1024);
    expect(description).toContain('Use it when');
  });

  it('names every command with its flags, every exit code, and every topic', () => {
    for (const { command, flags } of program.commands) {
      const [, described = ''] = new RegExp(`^- \`partnerctl ${command}[ \`](.*(?:\n  .*)*)`, 'm').exec(skill) ?? [];
      expect(described, command).not.toBe('');
      for (const { flag } of flags) expect(described, command).toContain(`\`${flag}`);
    }
    for (const { flag } of program.global_flags) expect(skill).toContain(`\`${flag}`);
    for (const { code, meaning } of program.exit_codes) expect(skill).toContain(`\n- ${code}: ${meaning}\n`);
    for (const { name } of program.topics) expect(skill).toContain(`\`partnerctl help ${name}\``);
  });

  it('marks the commands that write', () => {
    expect(skill).toMatch(/^- `partnerctl provision .*\(writes\)$/m);
    expect(skill).not.toMatch(/^- `partnerctl spaces list.*\(writes\)$/m);
  });
});
