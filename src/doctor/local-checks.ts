import pkg from '../../package.json' with { type: 'json' };
import { LocalError } from '../errors.ts';
import { shellQuote } from '../platform/shell-quote.ts';
import { repairHint } from '../state/log.ts';
import { type Check, failed, ok, skipped, warning } from './check.ts';
import type { Facts } from './gather.ts';

/** The oldest Node.js that the program runs on. */
const MINIMUM_NODE = pkg.engines.node.replace(/^[^\d]*/, '');

function broken(name: string, message: string, hint: string): Check {
  return failed(name, new LocalError(message), hint);
}

const PROFILES_UNREADABLE = 'not checked: the profiles cannot be read';

function isOlder(version: string, than: string): boolean {
  return version.localeCompare(than, 'en', { numeric: true }) < 0;
}

/** Shows the version of the program, and checks that of Node.js. */
export function checkProgram({ version, nodeVersion }: Facts): Check {
  if (!isOlder(nodeVersion, MINIMUM_NODE)) return ok('program', `partnerctl ${version}, Node.js ${nodeVersion}`);
  const message = `Node.js ${nodeVersion} is older than ${MINIMUM_NODE}, the oldest that partnerctl runs on.`;
  return broken('program', message, `Install Node.js ${MINIMUM_NODE} or later.`);
}

/** Checks that the profiles can be read, and by this user only. */
export function checkProfiles({ profiles, profilesPath }: Facts): Check {
  const path = shellQuote(profilesPath);
  if (profiles.error) {
    const hint =
      profiles.error.info.why === 'permission denied'
        ? `Make it readable for you: chmod 600 ${path}`
        : `Repair the file, or move it away and store the profiles again: mv ${path} ${shellQuote(`${profilesPath}.damaged`)} && partnerctl login --base-url <url>`;
    return failed('profiles', profiles.error, hint);
  }
  const { names, isExposed } = profiles.value;
  if (isExposed) {
    return warning('profiles', `Other users can read the tokens in ${profilesPath}.`, `Run: chmod 600 ${path}`);
  }
  return ok('profiles', names.length === 0 ? `none in ${profilesPath}` : `${names.join(', ')} (${profilesPath})`);
}

/** Shows the service, the token's source, and the profile in use. */
export function checkSettings({ settings, profiles }: Facts): Check {
  if (profiles.error) return skipped('settings', PROFILES_UNREADABLE);
  if (settings.error) return failed('settings', settings.error);
  const { baseUrl, profile, token, shadowed } = settings.value;
  const others = shadowed.length === 0 ? '' : ` (${shadowed.join('; ')})`;
  const isStored = profiles.value.names.includes(profile.value);
  const named = isStored ? `profile "${profile.value}" from ${profile.from}` : 'no profile';
  const message = `${baseUrl.value} from ${baseUrl.from}, ${token ? `token from ${token.from}` : 'no token'}, ${named}${others}`;
  return ok('settings', message);
}

/** Checks that the state can be read and written, and that every line is intact. Warns if CI does not share it. */
export function checkState({ state, isCi, profiles, settings }: Facts): Check {
  if (state === undefined) return skipped('state', 'not checked: --timeout ended before');
  // The profile may name the state.
  if (state.error && profiles.error?.message === state.error.message) return skipped('state', PROFILES_UNREADABLE);
  if (state.error) return failed('state', state.error);
  const { location, records, isWritable, damage } = state.value;
  const { kind, address, from } = location;
  if (damage) {
    const what = `A line of the state cannot be used: ${address}:${damage.line}: ${damage.why}.`;
    return broken('state', what, `List the lines with: partnerctl state verify. ${repairHint(damage.why)}`);
  }
  if (!isWritable) {
    const hint =
      'Make it writable for you, with space on its disk, or name another place with --state or PARTNER_STATE.';
    return broken('state', `The state cannot be written: ${address}`, hint);
  }
  const where = kind === 'file' ? 'a file: guards this machine only' : 'shared';
  const content = records === undefined ? 'nothing recorded yet' : `${records} record${records === 1 ? '' : 's'}`;
  const message = `${address}${from === 'default' ? ', the default' : ` from ${from}`}: ${where}; ${content}`;
  if (isCi && kind === 'file' && records === undefined && settings.value !== undefined) {
    const hint = 'Share one state with --state postgres://… or git+ssh://…#branch: partnerctl help state';
    return warning('state', `${message}. In CI, it guards this run alone.`, hint);
  }
  return ok('state', message);
}
