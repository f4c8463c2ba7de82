import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quoteForBash, readBashLine } from '../../../src/completion/bash-line.ts';
import { formatForBash, formatForPowerShell, formatLines } from '../../../src/completion/format.ts';
import { completionScript, SCRIPT_FILES, SHELLS } from '../../../src/completion/scripts.ts';
import { run } from '../../support/run.ts';

const BREAKS = ' \t\n"\'@><=;|&(:';
const SCREEN = { columns: 80, type: '63' };

function bash(line: string) {
  return readBashLine(line, '', BREAKS);
}

describe('the parser of bash command lines', () => {
  it.each([
    ['partnerctl ', { before: [], current: '', keptLength: 0, quote: '' }],
    ['partnerctl agents list', { before: ['agents'], current: 'list' }],
    ['X=1 Y=2 partnerctl sp', { before: [], current: 'sp' }],
    ['partnerctl agents list ext:ac', { before: ['agents', 'list'], current: 'ext:ac', keptLength: 4 }],
    ['partnerctl spaces list --output=js', { current: '--output=js', keptLength: 9 }],
    ['partnerctl agents list "name:Acme Co', { current: 'name:Acme Co', keptLength: 0, quote: '"' }],
    ["partnerctl agents list name:'Acme Co", { current: 'name:Acme Co', keptLength: 5, quote: "'" }],
    ['partnerctl agents list name:Acme\\ Co', { current: 'name:Acme Co', keptLength: 5, quote: '' }],
    ['partnerctl x "a \\"b\\" \\$c" \'d\'"e" ', { before: ['x', 'a "b" $c', 'de'], current: '' }],
    ['partnerctl plan a.yaml > out', { before: ['plan', 'a.yaml'], current: 'out', isRedirected: true }],
    ['partnerctl plan a.yaml 2>out --q', { before: ['plan', 'a.yaml'], current: '--q', isRedirected: false }],
    ["partnerctl x ''", { before: ['x'], current: '' }],
  ])('reads %s', (line, wanted) => {
    expect(bash(line)).toMatchObject(wanted);
  });

  it('reads the text after the cursor, too', () => {
    expect(readBashLine('partnerctl spaces list --', ' -o json --quiet', BREAKS).after).toEqual([
      '-o',
      'json',
      '--quiet',
    ]);
    expect(readBashLine('partnerctl spa', 'ces list', BREAKS)).toMatchObject({ current: 'spa', after: ['list'] });
  });

  it('accepts any text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (line) => bash(line).keptLength <= bash(line).current.length));
  });
});

describe('the completion for bash', () => {
  it('quotes text so that bash inserts exactly that, and runs nothing', () => {
    const texts = [
      '$(touch pwned)',
      '`x`',
      "it's",
      'a b',
      '~',
      '!x',
      '{a,b}',
      '*',
      'ä ö',
      '-x',
      '#x',
      '\\',
      ';ls',
      '>f',
      '[a]',
      '"',
    ];
    const quoted = texts.flatMap((text) => [
      quoteForBash(`name:${text}`, ''),
      `'${quoteForBash(`name:${text}`, "'")}'`,
      `"${quoteForBash(`name:${text}`, '"') ?? `name:${text}`}"`,
    ]);
    const echoed = execFileSync('bash', ['-c', `printf '%s\\0' ${quoted.join(' ')}`], { encoding: 'utf8' });
    expect(echoed.split('\0').slice(0, -1)).toEqual(texts.flatMap((text) => Array(3).fill(`name:${text}`)));
  });

  it('omits the prefix that bash keeps, and values with a ! between double quotes', () => {
    const values = [
      ['ext:acme', 'Acme'],
      ['ext:a!b', ''],
    ] as const;
    expect(formatForBash({ kind: 'values', values }, bash('partnerctl agents list ext:a'), SCREEN)).toBe(
      'values\nacme  (Acme)\na\\!b\n',
    );
    expect(formatForBash({ kind: 'values', values }, bash('partnerctl agents list "ext:a'), SCREEN)).toBe(
      'values\next:acme\n',
    );
  });

  it('has no descriptions if bash inserts every match, or only one', () => {
    const values = [
      ['acme', 'one'],
      ['beta', 'two'],
    ] as const;
    for (const type of ['37', '42']) {
      expect(formatForBash({ kind: 'values', values }, bash('partnerctl '), { ...SCREEN, type })).toBe(
        'values\nacme\nbeta\n',
      );
    }
    expect(formatForBash({ kind: 'values', values: [['name:', 'x']] }, bash('partnerctl '), SCREEN)).toBe(
      'nospace\nname:\n',
    );
  });

  it('completes a file after the prefix that bash keeps', () => {
    const offer = { kind: 'files', prefix: '--file=' } as const;
    expect(formatForBash(offer, bash('partnerctl cron create --file=a b'.slice(0, -2)), SCREEN)).toBe('files\na\n\n');
    expect(formatForBash({ ...offer, prefix: '-f' }, bash('partnerctl cron create -fa'), SCREEN)).toBe(
      'files\na\n-f\n',
    );
  });
});

it('the output for shells contains no control character', () => {
  const values = [
    ['a\nb', ''],
    ['ok', 'x\ty\x1b[31m\u2028'],
    ['ok', 'again'],
  ] as const;
  expect(formatLines({ kind: 'values', values })).toBe('values\nok\tagain\n');
  expect(formatLines({ kind: 'values', values: values.slice(0, 2) })).toBe('values\nok\tx y [31m \n');
});

it('the output for PowerShell quotes inserted text', () => {
  const values = [
    ['name:$(x) it’s', 'Acme'],
    ['--output', 'format'],
  ] as const;
  expect(formatForPowerShell({ kind: 'values', values })).toBe(
    "values\n'name:$(x) it’’s'\tname:$(x) it’s\tAcme\n--output\t--output\tformat\n",
  );
});

describe('completions/', () => {
  it('contains the output of the program', async () => {
    const directory = new URL('../../../completions/', import.meta.url);
    expect(readdirSync(directory).sort()).toEqual(Object.values(SCRIPT_FILES).sort());
    for (const shell of SHELLS) {
      expect((await run(['completion', shell])).stdout).toBe(completionScript(shell));
      // `npm run build` writes them.
      expect(readFileSync(new URL(SCRIPT_FILES[shell], directory), 'utf8')).toBe(completionScript(shell));
    }
  });
});
