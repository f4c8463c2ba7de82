import { execFileSync } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createManPages } from './man-pages.js';
import { createSkill } from './skill.js';

/** Writes the manual to dist/man, compressed as `man` and npm take it, and SKILL.md, from what the built program says about itself in `help -o json`. */

const { description } = JSON.parse(await readFile('package.json', 'utf8'));
const epoch = process.env.SOURCE_DATE_EPOCH;
const date = (epoch === undefined ? new Date() : new Date(Number(epoch) * 1000)).toISOString().slice(0, 10);
const help = execFileSync(process.execPath, ['bin/partnerctl.js', 'help', '-o', 'json'], { encoding: 'utf8', maxBuffer: 2 ** 24 });
const program = { ...JSON.parse(help), description, date };
const read = async ({ name }) => [name, await readFile(join('src/help', `${name}.md`), 'utf8')];
const topicTexts = Object.fromEntries(await Promise.all(program.topics.map(read)));

const files = new Map([['skills/partnerctl/SKILL.md', createSkill(program)]]);
for (const [name, page] of createManPages(program, topicTexts)) files.set(`man/${name}.gz`, gzipSync(page, { level: 9 }));

for (const directory of ['man', 'skills']) await rm(join('dist', directory), { recursive: true, force: true });
await mkdir('dist/man');
await mkdir('dist/skills/partnerctl', { recursive: true });
await Promise.all([...files].map(([path, content]) => writeFile(join('dist', path), content)));
