import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { tempDirectory } from '../helpers/run.ts';
import { manifest, write } from '../helpers/service.ts';
import { PROGRAM, startFile } from './program.ts';

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

/** The shell blocks of a section. */
function commandsOf(heading: string): string {
  const [, section = ''] = README.split(`\n## ${heading}\n`);
  const [own = ''] = section.split('\n## ');
  return [...own.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block).join('\n');
}

test.each([
  ['Scheduled jobs', /cron_\w+\tcreated\t/],
  ['Upload', /doc_\w+\tuploaded\t.*hours\.md\t/],
])('the commands of "%s" work as written, one after the other', async (section, wanted) => {
  const directory = tempDirectory();
  write('space.yaml', manifest('acme-001'), directory);
  const program = `partnerctl() { '${process.execPath}' '${PROGRAM}' "$@"; }`;
  const lines = [program, `cd ${directory}`, 'partnerctl provision space.yaml', commandsOf(section), 'echo all'];
  const script = write('readme.sh', lines.join('\n'), directory);
  const words = ['sandbox', 'run', '--', 'bash', '-e', script];
  const ran = await startFile(process.execPath, [PROGRAM, ...words], { env: { HOME: directory } });
  expect(ran.stderr).not.toContain('error:');
  expect(ran).toMatchObject({ exitCode: 0 });
  expect(ran.stdout.split('\n').at(-2)).toBe('all');
  expect(ran.stdout).toMatch(wanted);
});
