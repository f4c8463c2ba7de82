import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The size of what npm installs, in MB. */
function installedSize() {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=error'];
  const [{ unpackedSize }] = JSON.parse(execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8' }));
  return { values: [unpackedSize / 1e6] };
}

function dependencies() {
  const { dependencies = {} } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return { values: [Object.keys(dependencies).length] };
}

export const rows = [
  { name: 'installed package', unit: 'MB', limit: 3, measure: installedSize },
  { name: 'dependencies of the installed package', unit: 'packages', limit: 0, measure: dependencies },
];
