import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { run } from '../support/run.ts';

const PICTURES = new URL('../../.ci/pictures/', import.meta.url);

function readPicture(name: string): string {
  return readFileSync(new URL(`${name}.svg`, PICTURES), 'utf8');
}

/** The text fragments of a picture, with plain and marked-up characters treated alike. */
function shownTexts(picture: string): string[] {
  const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"' };
  return [...picture.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, text = '']) =>
    text.replace(/&(\w+);/g, (_, name: string) => entities[name] ?? '?'),
  );
}

describe.each(['plan', 'chat-tail', 'doctor'])('the picture %s of the README', (name) => {
  const picture = readPicture(name);

  it('is well-formed SVG without overflow', () => {
    const [, width, height] = /^<svg [^>]*viewBox="0 0 (\d+) (\d+)"[^>]*>\n/.exec(picture) ?? [];
    // One element per line: a text, a shape without content, or the title.
    const line =
      /^ {2}<(?:(?:rect|circle)(?: [\w-]+="[^"<]*")+\/>|(text|title)(?: [\w-]+="[^"<]*")*>(?:[^<&]|&\w+;)*<\/\1>)$/;
    const [, ...lines] = picture.trimEnd().split('\n');
    expect(lines.pop()).toBe('</svg>');
    for (const element of lines) expect(element).toMatch(line);
    for (const [, x, y, length] of picture.matchAll(/x="([\d.]+)" y="(\d+)" textLength="([\d.]+)"/g)) {
      expect(Number(x) + Number(length)).toBeLessThanOrEqual(Number(width));
      expect(Number(y)).toBeLessThan(Number(height));
    }
  });

  it('shows a command of partnerctl, and no secret or directory of the machine that made it', () => {
    expect(shownTexts(picture)[0]).toMatch(/^\$ partnerctl (plan|chat tail|doctor)\b/);
    expect(picture).not.toMatch(/pat_|sbadm_|whsec_|\/tmp|\/root|\/home|Bearer/);
  });
});

it('the pictures show the real output of the commands', async () => {
  const { stdout } = await run(['doctor', '-o', 'json']);
  const checks: { checks: { name: string }[] } = JSON.parse(stdout);
  const doctor = shownTexts(readPicture('doctor'));
  expect(doctor).toEqual(expect.arrayContaining(checks.checks.map(({ name }) => name)));
  expect(doctor).toContain('failed');
  expect(shownTexts(readPicture('plan')).join('\n')).toMatch(
    /acme-001[\s\S]*install agent "Sales"[\s\S]*globex-7[\s\S]*Plan: /,
  );
  expect(shownTexts(readPicture('chat-tail'))).toEqual(expect.arrayContaining(['user', ': Yes, please.', 'assistant']));
});
